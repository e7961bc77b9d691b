"""Power, heat, clock of a GPU and what holds its clocks down, looked at while it works.

Runs on the node: Python 3.6+, standard library only.
"""

import ctypes
import time

LOOK_EVERY = 0.1  # seconds
MOST_LINES = 200  # of looks that are told one by one; what they say together counts all of them
TEMPERATURE_OF_GPU, SM_CLOCK = ctypes.c_int(0), ctypes.c_int(1)
REASONS = (  # nvmlClocksEventReason*: bit, name
    (0x1, "gpu_idle"),
    (0x2, "applications_clocks"),
    (0x4, "sw_power_cap"),
    (0x8, "hw_slowdown"),
    (0x10, "sync_boost"),
    (0x20, "sw_thermal_slowdown"),
    (0x40, "hw_thermal_slowdown"),
    (0x80, "hw_power_brake"),
    (0x100, "display_clocks"),
)
REASON_CALLS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")  # before 535


class Vitals(object):
    """What NVML says of one GPU again and again; without NVML there is nothing to say."""

    def __init__(self, nvml, bus, seconds, tell):
        self.nvml, self.bus, self.tell = nvml, bus, tell
        self.began = time.monotonic()
        self.next = self.next_line = 0.0
        self.line_every = max(LOOK_EVERY, seconds / MOST_LINES)
        self.looks, self.reasons, self.unread_reasons = [], {}, 0
        self.reason_call = REASON_CALLS[0]

    def look_now_and_then(self):
        """Look, when the last look is long enough ago."""
        now = time.monotonic()
        if self.nvml is None or now < self.next:
            return
        self.next = now + LOOK_EVERY
        look = self.look()
        self.looks.append((look.get("power_w"), look.get("temperature_c"), look.get("sm_mhz")))
        if now >= self.next_line:
            self.next_line = now + self.line_every
            self.tell(look=dict(look, t=round(now - self.began, 2)))

    def look(self):
        """What can be read at this moment; the rest is absent."""
        milliwatts = self.nvml.number("nvmlDeviceGetPowerUsage", self.bus)
        found = {
            "power_w": None if milliwatts is None else round(milliwatts / 1000.0, 1),
            "temperature_c": self.nvml.number("nvmlDeviceGetTemperature", self.bus, TEMPERATURE_OF_GPU),
            "sm_mhz": self.nvml.number("nvmlDeviceGetClockInfo", self.bus, SM_CLOCK),
            "reasons": self.reasons_now(),
        }
        return {name: value for name, value in found.items() if value is not None}

    def reasons_now(self):
        """Names of what holds the clocks down; None where the driver does not say."""
        bits = self.nvml.number(self.reason_call, self.bus)
        if bits is None and self.reason_call == REASON_CALLS[0] and not self.looks:
            self.reason_call = REASON_CALLS[1]
            bits = self.nvml.number(self.reason_call, self.bus)
        if bits is None:
            self.unread_reasons += 1
            return None
        names = [name for bit, name in REASONS if bits & bit]
        names += ["0x%x" % (bits & ~0x1FF)] if bits & ~0x1FF else []
        for name in names:
            self.reasons[name] = self.reasons.get(name, 0) + 1
        return names

    def summary(self):
        """All looks together; what was never read is absent."""
        if not self.looks:
            return {"looks": 0}
        found = {"looks": len(self.looks), "reasons": self.reasons, "looks_without_reasons": self.unread_reasons}
        for name, values in zip(("power_w", "temperature_c", "sm_mhz"), zip(*self.looks)):  # noqa: B905
            ranked = sorted(value for value in values if value is not None)
            if ranked:
                found[name] = {"min": ranked[0], "median": ranked[len(ranked) // 2], "max": ranked[-1]}
        limit = self.nvml.number("nvmlDeviceGetEnforcedPowerLimit", self.bus)
        if limit is not None:
            found["power_limit_w"] = round(limit / 1000.0, 1)
        return found
