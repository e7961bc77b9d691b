"""The node's PCI devices as sysfs shows them: which GPUs, NICs and NVSwitches there are, and the bridges above them."""

import os

DEVICES = "/sys/bus/pci/devices"
INFINIBAND = "/sys/class/infiniband"

NVIDIA = "0x10de"
DISPLAY = "0x03"
BRIDGE_OTHER = "0x0680"


def text_of(path):
    """The text of a small file, stripped; None where it can't be read."""
    try:
        with open(path) as file:
            return file.read(4096).strip()
    except (OSError, UnicodeDecodeError):
        return None


def names_in(folder):
    """Sorted names in a folder; none where it does not exist."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def is_address(name):
    """Whether `name` looks like `0000:19:00.0`."""
    return name.count(":") == 2 and "." in name


def _driver(address):
    link = os.path.join(DEVICES, address, "driver")
    return os.path.basename(os.path.realpath(link)) if os.path.exists(link) else None


def _of_class(vendor, start):
    return [
        address
        for address in names_in(DEVICES)
        if text_of("%s/%s/vendor" % (DEVICES, address)) == vendor
        and (text_of("%s/%s/class" % (DEVICES, address)) or "").startswith(start)
    ]


def gpu_addresses():
    """Bus addresses of the NVIDIA GPUs in order; those handed to another driver (passed through) are not ours."""
    return [address for address in _of_class(NVIDIA, DISPLAY) if _driver(address) in (None, "nvidia")]


def nvswitch_addresses():
    """Bus addresses of the NVSwitches in order."""
    return _of_class(NVIDIA, BRIDGE_OTHER)


def nics():
    """(name, bus address) of the RDMA devices: ("mlx5_0", "0000:18:00.0"); the address is None without a PCI device."""
    found = []
    for name in names_in(INFINIBAND):
        device = os.path.basename(os.path.realpath("%s/%s/device" % (INFINIBAND, name)))
        found.append((name, device if is_address(device) else None))
    return found


def bridges_above(address):
    """Bus addresses of the bridges above a device, root port first."""
    parts = os.path.realpath("%s/%s" % (DEVICES, address)).split("/")
    return [part for part in parts if is_address(part)][:-1]


def number_of(text):
    """A whole number, or the text itself, or None."""
    try:
        return int(text)
    except (TypeError, ValueError):
        return text
