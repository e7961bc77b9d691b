"""More of an NVML in place of the loaded library: put this text after `simulated_nvml.py` and before that of a program.

`install_vitals(state)`, besides what `install` takes: `vitals` [[mW, degrees C, MHz, reason bits], ...], one a look;
`ecc` [[corrected, uncorrected], ...], one a reading; the last of either for ever; `old`: a driver from before 535.
"""
# ruff: noqa: N802, F821

NOT_FOUND = 13


class SimulatedVitals(SimulatedNvml):
    """The entry points that say how a GPU fares."""

    def __init__(self, state):
        SimulatedNvml.__init__(self, state)
        self.vitals = list(state.get("vitals", [[500000, 60, 1980, 0]]))
        self.ecc = list(state.get("ecc", [[0, 0]]))

    def nvmlDeviceGetPowerUsage(self, handle, out):
        out._obj.value = self.vitals[0][0]
        return SUCCESS

    def nvmlDeviceGetEnforcedPowerLimit(self, handle, out):
        out._obj.value = 700000
        return SUCCESS

    def nvmlDeviceGetTemperature(self, handle, sensor, out):
        out._obj.value = self.vitals[0][1]
        return SUCCESS

    def nvmlDeviceGetClockInfo(self, handle, clock, out):
        out._obj.value = self.vitals[0][2]
        return SUCCESS

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle, out):
        out._obj.value = self.vitals[0][3]
        if len(self.vitals) > 1:
            del self.vitals[0]
        return SUCCESS

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle, out):
        return NOT_FOUND if self.state.get("old") else self.nvmlDeviceGetCurrentClocksThrottleReasons(handle, out)

    def nvmlDeviceGetTotalEccErrors(self, handle, kind, counter, out):
        out._obj.value = self.ecc[0][kind.value]
        if kind.value == 1 and len(self.ecc) > 1:
            del self.ecc[0]
        return SUCCESS

    def nvmlDeviceGetRemappedRows(self, handle, correctable, uncorrectable, pending, failure):
        for row in (correctable, uncorrectable, pending, failure):
            row._obj.value = 0
        return SUCCESS


def install_vitals(state):
    """Give every program of this process the simulated library."""
    load, simulated = ctypes.CDLL, SimulatedVitals(state)
    ctypes.CDLL = lambda name, *rest, **more: simulated if name == "libnvidia-ml.so.1" else load(name, *rest, **more)
