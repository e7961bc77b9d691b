"""What files of many nodes mean together, where nobody compared their clocks."""

from __future__ import annotations

from lanescope.session.files.diagnosis import diagnose

WORDS = "(0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)"
FATAL = f"149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 {WORDS}"
LOST = f"145, RLW_REMAP Nonfatal XC0 i0 Link -1 {WORDS}"


def log(folder, node, *lines):
    place = folder / node / "kernel.log"
    place.parent.mkdir(parents=True, exist_ok=True)
    stamped = ((f"2026-11-30T10:00:{at:09.6f}+00:00 {node} kernel:", bus, text) for at, bus, text in lines)
    told = (f"{head} NVRM: Xid (PCI:{bus}:01:00): {text}" for head, bus, text in stamped)
    place.write_text("\n".join(told) + "\n")


def test_gpus_of_a_rack_that_lost_packets_follow_the_link_that_failed_whoever_logged_first(tmp_path):
    for tray in range(16):
        lost = [(1.0, f"000{gpu}", LOST) for gpu in range(1, 5)]
        log(tmp_path, f"tray{tray:02d}", *([(2.0, "0008", FATAL), *lost] if tray == 7 else lost))
    found = diagnose([tmp_path])
    (first,) = found.faults
    assert (first.component.node, first.component.name) == ("tray07", "0008:01:00.0")
    assert "NVLink 8" in first.title
    assert len(first.victims) == 64
    assert any("clocks" in sentence for sentence in first.argues_against)
    assert any("never compared" in sentence for sentence in found.missing)


def test_two_nodes_that_log_in_the_same_minute_are_not_cause_and_effect(tmp_path):
    log(tmp_path, "n1", (1.0, "0000", "79, GPU has fallen off the bus."))
    log(tmp_path, "n2", (2.0, "0000", "94, Contained ECC error"))
    assert {finding.component.node for finding in diagnose([tmp_path]).faults} == {"n1", "n2"}


def test_lost_packets_long_after_are_a_question_of_their_own(tmp_path):
    log(tmp_path, "n1", (1.0, "0008", FATAL))
    place = tmp_path / "n2" / "kernel.log"
    place.parent.mkdir()
    place.write_text(f"2026-11-30T12:00:00.000000+00:00 n2 kernel: NVRM: Xid (PCI:0001:01:00): {LOST}\n")
    assert {finding.component.node for finding in diagnose([tmp_path]).faults} == {"n1", "n2"}


def test_times_of_day_without_a_date_are_told_as_such(tmp_path):
    (tmp_path / "kernel.txt").write_text(
        "03:51:02 kernel: NVRM: Xid (PCI:0000:9c:00): 79, pid=1, name=x, GPU has fallen off the bus.\n"
    )
    (found,) = diagnose([tmp_path]).faults
    assert "since 03:51:02" in found.title
