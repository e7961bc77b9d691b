# The collector for nodes without Python 3: plain POSIX sh, polled text, fewer readings.
# The greeting is the frame of collector.py; readings go out as tab-separated P lines, so that no text of the node can
# break a frame, and are read on the operator's side. Standard input carries the lease: its end, or 20 seconds without
# a word on it, ends everything.

LEASE=20
PERIOD=2

# P, domain, component, name, value
tell() { printf 'P\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4"; }

tell_gpus() {
    command -v nvidia-smi >/dev/null 2>&1 || return 0
    timeout 10 nvidia-smi --format=csv,noheader,nounits \
        --query-gpu=index,temperature.gpu,power.draw,utilization.gpu,pcie.link.gen.current,pcie.link.width.current \
        2>/dev/null |
        while IFS=', ' read -r index temperature power utilization generation width; do
            tell nvml "gpu$index" temperature_c "$temperature"
            tell nvml "gpu$index" power_w "$power"
            tell nvml "gpu$index" utilization_pct "$utilization"
            tell nvml "gpu$index/pcie" generation "$generation"
            tell nvml "gpu$index/pcie" width "$width"
        done
}

tell_file() {
    [ -r "$4" ] && IFS= read -r value <"$4" && tell "$1" "$2" "$3" "$value"
}

tell_nics() {
    for device in /sys/class/infiniband/*; do
        [ -d "$device" ] || continue
        name=${device##*/}
        tell_file ib "$name" port_state "$device/ports/1/state"
        tell_file ib "$name" phys_state "$device/ports/1/phys_state"
        tell_file ib "$name" rate_gbps "$device/ports/1/rate"
        for file in "$device"/ports/1/counters/* "$device"/ports/1/hw_counters/*; do
            [ -f "$file" ] && tell_file ib "$name" "${file##*/}" "$file"
        done
    done
    return 0
}

tell_for_ever() {
    trap 'kill $! 2>/dev/null; exit 0' TERM PIPE
    while :; do
        tell_gpus
        tell_nics
        printf 'P\ttick\n' || exit 0
        sleep "$PERIOD" &
        wait $!
    done
}

# The next word on standard input; fails at its end, and when the lease runs out.
next_word() {
    if command -v timeout >/dev/null 2>&1; then
        timeout "$LEASE" sh -c 'IFS= read -r word && printf "%s" "$word"'
    else
        IFS= read -r word && printf '%s' "$word"
    fi
}

leave() {
    kill "$teller" 2>/dev/null
    exit 0
}

printf '["H",{"protocol":1,"collector":"sh"}]\n'
printf 'P\tfact\thostname\t%s\n' "$(uname -n)"
printf 'P\tfact\tkernel\t%s\n' "$(uname -r)"
printf 'P\tfact\tcollector\tsh\n'

tell_for_ever </dev/null &
teller=$!
trap leave TERM HUP INT PIPE
while word=$(next_word) && [ "$word" != q ]; do :; done
leave
