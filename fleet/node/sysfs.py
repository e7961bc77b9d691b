"""The `ib` and `pci` domains: counters and link states that the kernel shows as small files.

Files stay open and are read anew with os.pread: a thousand of them cost about 2 ms.
"""

import os

import pci

AER = ("aer_correctable", "aer_nonfatal", "aer_fatal")


class Files(object):
    """Many small files, read at once."""

    def __init__(self):
        self.groups = []
        self.descriptors = []

    def add(self, component, names_and_paths):
        """Watch files of one component; those that don't exist are left out."""
        names = []
        for name, path in names_and_paths:
            try:
                self.descriptors.append(os.open(path, os.O_RDONLY))
            except OSError:
                continue
            names.append(name)
        if names:
            self.groups.append([component, names])

    def read(self):
        """One value a file: a whole number, a text, or None where it can't be read now."""
        return [self._value(descriptor) for descriptor in self.descriptors]

    def close(self):
        """Let all files go."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = []

    def _value(self, descriptor):
        try:
            text = os.pread(descriptor, 4096, 0).decode("ascii", "replace").strip()
        except OSError:
            return None
        head, _, last = text.rpartition("\n")
        # of an AER table only the last line, the total, is worth its bytes
        return pci.number_of(last.split()[-1] if head and last.startswith("TOTAL_ERR") else text)


class InfinibandReader(object):
    """Port state and counters of every RDMA device. Without any, an empty vector: that is no fault."""

    def __init__(self):
        self.devices = []
        self.files = Files()

    def changed(self):
        """Whether devices came or went since the schema was made."""
        return self.devices != pci.names_in(pci.INFINIBAND)

    def schema(self):
        """Open the files of the devices that are there now."""
        self.files.close()
        self.files = Files()
        self.devices = pci.names_in(pci.INFINIBAND)
        for device in self.devices:
            port = "%s/%s/ports/1" % (pci.INFINIBAND, device)
            named = [
                ("port_state", port + "/state"),
                ("phys_state", port + "/phys_state"),
                ("rate_gbps", port + "/rate"),
            ]
            seen = set()
            for folder in ("counters", "hw_counters"):
                for name in pci.names_in("%s/%s" % (port, folder)):
                    if name not in seen:
                        seen.add(name)
                        named.append((name, "%s/%s/%s" % (port, folder, name)))
            self.files.add(device, named)
        return self.files.groups, {}

    def facts(self):
        """What each device is."""
        facts = []
        for device, address in pci.nics():
            base = "%s/%s" % (pci.INFINIBAND, device)
            netdevs = pci.names_in(base + "/device/net")
            known = {
                "bus_address": address,
                "numa": pci.number_of(pci.text_of(base + "/device/numa_node")),
                "firmware": pci.text_of(base + "/fw_ver"),
                "board_id": pci.text_of(base + "/board_id"),
                "node_guid": pci.text_of(base + "/node_guid"),
                "link_layer": pci.text_of(base + "/ports/1/link_layer"),
                "netdev": netdevs[0] if netdevs else None,
                "pcie_path": "/".join(pci.bridges_above(address)) if address else None,
            }
            facts += [[device, key, value] for key, value in sorted(known.items()) if value is not None]
        return facts

    def read(self):
        """The values of the schema."""
        return self.files.read()


class PciReader(object):
    """PCIe link state and AER totals of GPUs, NICs and the bridges above them."""

    def __init__(self):
        self.present = []
        self.links = []
        self.files = Files()

    def changed(self):
        """Whether devices came or went since the schema was made."""
        return self.present != self._present()

    def schema(self):
        """Open the files of the links that are there now."""
        self.files.close()
        self.files = Files()
        self.present = self._present()
        self.links = self._links()
        for component, address in self.links:
            base = "%s/%s" % (pci.DEVICES, address)
            named = [("speed_gts", base + "/current_link_speed"), ("current_width", base + "/current_link_width")]
            named += [(name, base + "/" + name.replace("aer_", "aer_dev_")) for name in AER]
            self.files.add(component, named)
        return self.files.groups, {}

    def facts(self):
        """What each link can do, and where each GPU and NVSwitch sits."""
        facts = []
        for component, address in self.links:
            base = "%s/%s" % (pci.DEVICES, address)
            known = {
                "max_speed_gts": pci.text_of(base + "/max_link_speed"),
                "max_width": pci.number_of(pci.text_of(base + "/max_link_width")),
            }
            facts += [[component, key, value] for key, value in sorted(known.items()) if value is not None]
        for number, address in enumerate(pci.gpu_addresses()):
            gpu = "gpu%d" % number
            facts.append([gpu, "bus_address", address])
            facts.append([gpu, "pcie_path", "/".join(pci.bridges_above(address))])
            numa = pci.number_of(pci.text_of("%s/%s/numa_node" % (pci.DEVICES, address)))
            if numa is not None:
                facts.append([gpu, "numa", numa])
        for number, address in enumerate(pci.nvswitch_addresses()):
            facts.append(["nvswitch%d" % number, "bus_address", address])
        return facts

    def read(self):
        """The values of the schema."""
        return self.files.read()

    def _present(self):
        return pci.names_in(pci.DEVICES) + pci.names_in(pci.INFINIBAND)

    def _links(self):
        """(component, bus address) of every link worth watching: devices first, then the bridges above them."""
        devices = [("gpu%d/pcie" % number, address) for number, address in enumerate(pci.gpu_addresses())]
        devices += [(name + "/pcie", address) for name, address in pci.nics() if address]
        bridges = sorted({bridge for _, address in devices for bridge in pci.bridges_above(address)})
        return devices + [("pcie/" + address, address) for address in bridges]
