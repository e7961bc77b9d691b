"""Memory that goes on losing rows is told from a single row that a reset replaces."""

from lanescope.incident.findings import Confidence, Severity

from .telling import judged, of_class

HEAD = (
    "gpu_bus_id, remapped_rows.correctable, remapped_rows.uncorrectable, remapped_rows.pending, remapped_rows.failure\n"
)


def table(*rows):
    return HEAD + "".join(
        f"00000000:{address}:00.0, 0, {count}, {pending}, {failure}\n" for address, count, pending, failure in rows
    )


def excerpt(rows, pending="Yes", failure="No"):
    return (
        "Remapped Rows\n    Correctable Error                 : 0\n"
        f"    Uncorrectable Error               : {rows}\n    Pending                           : {pending}\n"
        f"    Remapping Failure Occurred        : {failure}\n"
    )


def marked(*lines):
    said = "Row Remapper: New row (0x0000000000000001) marked for remapping, reset gpu to activate."
    return "".join(f"[{at}.000000] NVRM: Xid (PCI:0000:5e:00): 63, pid=7, name={name}, {said}\n" for at, name in lines)


def only(files, family="gpu-memory/hbm-degrading"):
    (found,) = of_class(judged(files), family)
    return found


def test_a_count_that_grows_beside_logged_rows_is_memory_that_degrades():
    files = {
        "n1/t0-rows.csv": table(("5e", 4, "Yes", "No"), ("6e", 0, "No", "No")),
        "n1/t1-rows.csv": table(("5e", 6, "Yes", "No"), ("6e", 0, "No", "No")),
        "n1/kernel.txt": marked((100, "train")),
    }
    found = only(files)
    assert (found.confidence, found.severity, found.fru) == (Confidence.LIKELY, Severity.CRITICAL, "gpu-module")
    assert "Remapped Rows went from 4 to 6" in found.title
    assert "0000:5e:00.0" in found.next


def test_a_count_that_grows_without_any_log_is_possible():
    files = {"n1/t0-rows.csv": table(("5e", 4, "No", "No")), "n1/t1-rows.csv": table(("5e", 5, "No", "No"))}
    assert only(files).confidence is Confidence.POSSIBLE


def test_rows_under_several_programs_blame_none_of_them():
    found = only({"n1/kernel.txt": marked((100, "train"), (4000, "serve"), (9000, "serve"))})
    assert found.confidence is Confidence.LIKELY
    assert "under train and serve" in found.title


def test_excerpts_that_name_no_gpu_belong_to_the_only_one_with_rows():
    files = {
        "n1/t0-rows.txt": excerpt(11),
        "n1/t1-rows.txt": excerpt(12),
        "n1/rows.csv": table(("1c", 0, "No", "No"), ("5e", 12, "Yes", "No")),
        "n1/kernel.txt": marked((100, "train")),
    }
    found = only(files)
    assert "from 11 to 12" in found.title
    assert "while 1 other GPU of the node lost none" in found.title


def test_a_single_row_that_waits_for_a_reset_is_no_degradation():
    found = only({"n1/rows.csv": table(("5e", 1, "Yes", "No"), ("6e", 0, "No", "No"))}, "gpu-memory")
    assert found.fault_class == "gpu-memory/row-remap-pending"
    assert found.severity is Severity.WARNING


def test_old_rows_that_stand_still_are_no_finding():
    files = {"n1/t0-rows.csv": table(("5e", 4, "No", "No")), "n1/t1-rows.csv": table(("5e", 4, "No", "No"))}
    assert of_class(judged(files), "gpu-memory") == []


def test_a_remap_that_failed_is_told_before_anything_else():
    assert (
        only({"n1/rows.csv": table(("5e", 8, "Yes", "Yes"))}, "gpu-memory").fault_class
        == "gpu-memory/row-remap-failure"
    )
