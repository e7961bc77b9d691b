"""The tools on a simulated node's PATH, one file each: `run(machine, name, arguments)` prints, gives the exit status.

Outputs have the form of real ones (drivers 535 to 595, perftest, nccl-tests, nvbandwidth 0.8, pciutils, util-linux).
"""
