"""Error counters of InfiniBand and RoCE devices, as sysfs shows them, read at a trial's edges.

Those of congestion (`port_xmit_wait`, CNP and ECN counts) rise under healthy load and are not read here. A counter that
is missing or unreadable is absent, never 0. Names: sysfs of Linux (ABI/stable/sysfs-class-infiniband).
Runs on the node: Python 3.6+, standard library only.
"""

import re

FOLDER = "/sys/class/infiniband"
NAMES = (
    (
        "counters",
        (
            "symbol_error",
            "link_error_recovery",
            "link_downed",
            "port_rcv_errors",
            "port_rcv_remote_physical_errors",
            "port_rcv_switch_relay_errors",
            "port_xmit_discards",
            "port_xmit_constraint_errors",
            "port_rcv_constraint_errors",
            "local_link_integrity_errors",
            "excessive_buffer_overrun_errors",
            "VL15_dropped",
        ),
    ),
    (
        "hw_counters",
        (
            "local_ack_timeout_err",
            "rnr_nak_retry_err",
            "out_of_sequence",
            "packet_seq_err",
            "duplicate_request",
            "implied_nak_seq_err",
            "out_of_buffer",
            "req_cqe_error",
            "resp_cqe_error",
            "req_remote_access_errors",
            "req_remote_invalid_request",
            "resp_remote_access_errors",
            "resp_local_length_error",
            "roce_adp_retrans",
            "rx_icrc_encapsulated",
        ),
    ),
)
DEVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")


def is_device(name):
    """Whether a value can be the name of an RDMA device: it becomes part of a path."""
    return isinstance(name, str) and DEVICE.match(name) is not None


def read(nics):
    """Error counters of the first port of RDMA devices. -> {(nic, name): count}"""
    found = {}
    for nic in nics:
        if not is_device(nic):
            continue
        for folder, names in NAMES:
            for name in names:
                count = count_in("%s/%s/ports/1/%s/%s" % (FOLDER, nic, folder, name))
                if count is not None:
                    found[nic, name] = count
    return found


def count_in(path):
    """The number a file holds; None where there is none."""
    try:
        with open(path) as file:
            return int(file.read(64))
    except (OSError, ValueError):
        return None


def moved(before, after):
    """Counters read at both edges, as the lines of the protocol have them; those that stood still too."""
    return [
        {"nic": nic, "name": name, "before": count, "after": after[nic, name]}
        for (nic, name), count in before.items()
        if (nic, name) in after
    ]
