"""Inactive NVLinks that a board does not have are no fault, and a check that says otherwise is wrong."""

from lanescope.incident.findings import Severity

from .telling import judged, of_class

INACTIVE = (4, 5, 10, 11, 16, 17)


def listing(inactive, gpus=2, name="NVIDIA H100 PCIe"):
    lines = []
    for gpu in range(gpus):
        lines.append(f"GPU {gpu}: {name}")
        lines += [f"\t Link {at}: {'<inactive>' if at in inactive[gpu] else '26.562 GB/s'}" for at in range(18)]
    return "\n".join(lines) + "\n"


NAMES = "index, name, pci.bus_id\n0, NVIDIA H100 PCIe, 00000000:17:00.0\n1, NVIDIA H100 PCIe, 00000000:65:00.0\n"


def test_links_inactive_on_all_gpus_alike_as_the_board_has_them_are_its_design():
    files = {"n1/nvlink-s.txt": listing([INACTIVE, INACTIVE]), "n1/names.csv": NAMES}
    (found,) = of_class(judged(files), "not-a-fault")
    assert (found.fault_class, found.severity, found.component) == ("not-a-fault/by-design", Severity.INFO, "n1")
    assert "H100 PCIe" in found.title
    assert "12 of 18" in found.next


def test_a_checks_complaint_is_answered_with_the_boards_number():
    check = "ERROR: check_nvlink_status: GPU 0 has nvlinks inactive: Link 4: Inactive Link 5: Inactive\n"
    files = {"n1/nvlink-s.txt": listing([INACTIVE, INACTIVE]), "n1/names.csv": NAMES, "n1/check.txt": check}
    (found,) = of_class(judged(files), "not-a-fault")
    assert found.next.startswith("The check expects another board")


def test_one_gpu_that_lacks_another_link_is_not_by_design():
    files = {"n1/nvlink-s.txt": listing([INACTIVE, (*INACTIVE, 0)]), "n1/names.csv": NAMES}
    assert of_class(judged(files), "not-a-fault") == []


def test_links_that_are_all_up_are_not_worth_a_word():
    assert of_class(judged({"n1/nvlink-s.txt": listing([(), ()], name="NVIDIA H100 80GB HBM3")}), "not-a-fault") == []
