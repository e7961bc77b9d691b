"""Inactive NVLinks that a tool prints are told as the smallest part that explains them."""

from lanescope.incident.findings import Confidence

from .telling import judged, of_class

NAMES = "index, name, pci.bus_id\n" + "".join(
    f"{gpu}, NVIDIA H100 80GB HBM3, 00000000:{16 + gpu:02X}:00.0\n" for gpu in range(8)
)


def listing(inactive):
    lines = []
    for gpu in range(8):
        lines.append(f"GPU {gpu}: NVIDIA H100 80GB HBM3")
        lines += [f"\t Link {at}: {'<inactive>' if (gpu, at) in inactive else '26.562 GB/s'}" for at in range(18)]
    return {"n1/nvlink-s.txt": "\n".join(lines) + "\n", "n1/names.csv": NAMES}


def test_one_lane_is_that_lane_and_possible_as_it_has_two_ends():
    (found,) = of_class(judged(listing({(3, 7)})), "nvlink-link")
    assert (found.component, found.fault_class) == ("n1/gpu3/nvlink7", "nvlink-link/down")
    assert found.confidence is Confidence.POSSIBLE
    assert "17 of 18 links" in found.title


def test_many_lanes_of_one_gpu_are_the_gpu():
    (found,) = of_class(judged(listing({(3, at) for at in range(9)})), "nvlink-link")
    assert found.component == "n1/gpu3"
    assert "9 of its 18" in found.title


def test_no_lane_of_any_gpu_is_the_fabrics_software_first():
    everything = {(gpu, at) for gpu in range(8) for at in range(18)}
    (found,) = [one for one in judged(listing(everything)) if one.fault_class.startswith("nvlink")]
    assert (found.component, found.fru) == ("n1/service/fabricmanager", "software")


def test_lanes_that_are_all_up_are_no_finding():
    assert of_class(judged(listing(set())), "nvlink-link") == []
