"""What of a kernel command line may differ between equal nodes, and what is only shown because it does."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

OF_ONE_NODE = frozenset(
    {
        "BOOT_IMAGE", "BOOTIF", "root", "initrd", "resume", "ip", "hostname", "nfsroot", "rootflags", "rootfstype",
        "ro", "rw", "quiet", "splash", "console", "crashkernel", "ds", "fsck.mode", "fsck.repair", "rhgb",
        "iso-url", "url", "nomodeset", "boot", "live-media", "systemd.machine_id", "systemd.hostname",
        "cloud-config-url", "autoinstall", "netboot",
    }
)  # fmt: skip
"""Names of words that say where a node boots from and who it is."""
BEGINS = ("rd.", "inst.", "ks", "coreos.", "ignition.", "net.ifnames")


def words_of(line: str) -> str:
    """The words that say how the kernel runs, sorted."""
    words = line.split()[:400]
    kept = {word for word in words if not _is_of_one_node(word.partition("=")[0])}
    return " ".join(sorted(kept))


def _is_of_one_node(name: str) -> bool:
    return name in OF_ONE_NODE or name.startswith(BEGINS)


def only_differing(lines: Iterable[str]) -> Mapping[str, str]:
    """Each line by the words that not all lines have; `(none)` for one that has none."""
    split: dict[str, Collection[str]] = {line: line.split() for line in lines}
    common = set.intersection(*(set(words) for words in split.values())) if split else set()
    return {line: " ".join(word for word in words if word not in common) or "(none)" for line, words in split.items()}
