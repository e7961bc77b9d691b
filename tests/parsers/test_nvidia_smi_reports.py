"""nvidia-smi's reports: what the shared captures do not show of meaning, drift, damage and bad input."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lanescope.parsers.nvidia_smi.errors import GpuLost
from lanescope.parsers.nvidia_smi.gpu_report import Driver, GpuProcess, GpuReport
from lanescope.parsers.nvidia_smi.query_csv import is_query_csv, parse_query_csv
from lanescope.parsers.nvidia_smi.query_text import parse_query_text
from lanescope.parsers.nvidia_smi.query_xml import parse_query_xml
from lanescope.parsers.nvidia_smi.reports import REPORTS
from lanescope.parsers.parsed import MOST_READINGS, MOST_UNREAD, Missing, Parsed
from lanescope.parsers.tool import HEAD

DATA = Path(__file__).parents[1] / "data" / "nvidia_smi"
OLD_TEXT = (DATA / "q-v100-old-names.txt").read_text()
XML = """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
  <driver_version>550.54.15</driver_version>
  <attached_gpus>2</attached_gpus>
  <gpu id="00000000:19:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <ecc_errors><volatile><dram_uncorrectable>2</dram_uncorrectable></volatile></ecc_errors>
    <colour_of_the_board>green</colour_of_the_board>
  </gpu>
  <gpu id="00000000:3B:00.0">
    <product_name>NVIDIA H100 80GB HBM3</product_name>
    <remapped_rows>N/A</remapped_rows>
    <fabric><state>Completed</state><status>Unknown Error</status></fabric>
  </gpu>
</nvidia_smi_log>
"""

T = TypeVar("T")


def of_type(kind: type[T], parsed: Parsed[Any]) -> list[T]:
    return [reading for reading in parsed.readings if isinstance(reading, kind)]


def one(kind: type[T], parsed: Parsed[Any]) -> T:
    (reading,) = of_type(kind, parsed)
    return reading


def wrapped(text: str, width: int) -> str:
    return "\n".join(line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width))


def test_names_of_old_drivers_fill_the_same_fields():
    parsed = parse_query_text(OLD_TEXT)
    gpu = one(GpuReport, parsed)
    assert parsed.unread == []
    assert (gpu.ecc.volatile.dram_correctable, gpu.ecc.volatile.correctable_total) == (3, 4)
    assert (gpu.ecc.volatile.dram_uncorrectable, gpu.ecc.volatile.uncorrectable_total) == (1, 1)
    assert (gpu.ecc.mode, gpu.retired.pending) == ("Enabled", True)
    assert (gpu.event_reasons.hw_slowdown, gpu.event_reasons.hw_thermal_slowdown) == (True, True)
    assert (gpu.power.draw, gpu.power.requested_limit, gpu.power.limit) == (43.9, 250.0, 300.0)


def test_a_lost_gpu_between_the_blocks_is_told_and_makes_positions_no_indices():
    parsed = parse_query_text(OLD_TEXT)
    driver, lost = one(Driver, parsed), one(GpuLost, parsed)
    assert (driver.attached, driver.reported) == (2, 1)
    assert (lost.bus_address, lost.said[:11]) == ("0000:3d:00.0", "GPU is lost")
    assert one(GpuReport, parsed).index is None


def test_a_process_name_may_hold_what_separates_keys_from_values():
    process = one(GpuProcess, parse_query_text(OLD_TEXT))
    assert (process.name, process.pid, process.memory_mib) == ("python: train : step 3", 4242, 1005)


def test_values_without_a_field_of_their_own_are_kept_as_printed():
    assert one(GpuReport, parse_query_text(OLD_TEXT)).other["ecc errors/volatile/single bit/register file"] == "0"
    assert parse_query_xml(XML).readings[1].other == {"colour_of_the_board": "green"}


@pytest.mark.parametrize("width", [48, 64, 80])
def test_a_log_that_a_terminal_has_wrapped_reads_the_same(width):
    assert parse_query_text(wrapped(OLD_TEXT.rpartition("Unable")[0], width)).readings == (
        parse_query_text(OLD_TEXT.rpartition("Unable")[0]).readings
    )


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace(" : ", "\t: "),
        lambda text: text.replace("Tesla", "\x1b[1;31mTesla\x1b[0m"),
        lambda text: "root@gpu-017:~# nvidia-smi -q\n" + text + "root@gpu-017:~#\n",
        lambda text: text.replace("    Processes\n", "    [...]\n    Processes\n"),
        lambda text: "\n".join("    " + line for line in text.split("\n")),
    ],
    ids=["CRLF", "tabs", "colours", "prompts", "left out", "indented"],
)
def test_a_log_pasted_in_another_form_reads_the_same(damage):
    assert parse_query_text(damage(OLD_TEXT)) == parse_query_text(OLD_TEXT)


def test_a_log_that_is_cut_gives_what_stands_before_the_cut():
    cut = OLD_TEXT[: OLD_TEXT.index("    Retired Pages")]
    gpu = one(GpuReport, parse_query_text(cut))
    assert gpu.ecc.volatile.uncorrectable_total == 1
    assert (gpu.retired.double_bit, gpu.missing) == (None, {})


def test_a_log_without_its_head_is_not_given_to_any_gpu():
    parsed = parse_query_text(OLD_TEXT[OLD_TEXT.index("    Retired Pages") :])
    assert of_type(GpuReport, parsed) == []
    assert [line.text for line in parsed.unread][:2] == ["Retired Pages", "Single Bit ECC              : 2"]


def test_two_logs_in_one_paste_stay_apart():
    drivers = of_type(Driver, parse_query_text(OLD_TEXT + OLD_TEXT.replace("418.87.01", "550.54.15")))
    assert [(driver.version, driver.reported) for driver in drivers] == [("418.87.01", 1), ("550.54.15", 1)]


def test_a_group_answered_in_one_word_says_of_each_of_its_fields_why_there_is_none():
    gpu = parse_query_xml(XML).readings[2]
    assert gpu.remapped.pending is None
    assert gpu.missing["remapped.pending"] is gpu.missing["remapped.histogram.max"] is Missing.NOT_APPLICABLE


def test_how_a_registration_ended_is_an_answer_even_where_it_is_unknown_error():
    gpu = parse_query_xml(XML).readings[2]
    assert (gpu.fabric_state, gpu.fabric_status) == ("Completed", "Unknown Error")


def test_a_value_that_is_neither_a_number_nor_a_word_for_none_is_unread_with_its_line():
    parsed = parse_query_xml(XML.replace("<dram_uncorrectable>2<", "<dram_uncorrectable>2 or 3<"))
    assert [(line.number, line.text) for line in parsed.unread] == [
        (8, "ecc_errors/volatile/dram_uncorrectable: 2 or 3"),
    ]
    assert parsed.readings[1].ecc.volatile.dram_uncorrectable is None


@pytest.mark.parametrize("digits", [20, 5000])
def test_a_number_of_more_digits_than_any_counter_has_is_unread(digits):
    parsed = parse_query_xml(XML.replace("<dram_uncorrectable>2<", f"<dram_uncorrectable>{'9' * digits}<"))
    assert len(parsed.unread) == 1
    assert parsed.readings[1].ecc.volatile.dram_uncorrectable is None


def test_xml_that_is_cut_gives_what_stands_before_the_cut_and_says_where_it_ends():
    parsed = parse_query_xml(XML[: XML.index("<remapped_rows>")])
    assert [gpu.bus_address for gpu in of_type(GpuReport, parsed)] == ["0000:19:00.0", "0000:3b:00.0"]
    assert one(Driver, parsed).attached == 2
    assert [line.number for line in parsed.unread] == [13]


def test_several_documents_in_one_text_are_read_each_even_where_the_first_is_cut():
    parsed = parse_query_xml(XML[: XML.index("<fabric>")] + "\n" + XML)
    assert [driver.reported for driver in of_type(Driver, parsed)] == [2, 2]
    assert len(of_type(GpuReport, parsed)) == 4


def test_entities_are_refused_and_never_expanded():
    bomb = '<!DOCTYPE nvidia_smi_log [\n<!ENTITY a "aaaaaaaa">\n]>\n' + XML.partition("\n")[2].partition("\n")[2]
    parsed = parse_query_xml(bomb.replace("green", "&a;"))
    assert "declares entities" in [line.why for line in parsed.unread]
    assert "aaaaaaaa" not in str(parsed.readings)


def test_elements_within_each_other_without_end_are_stopped_at():
    parsed = parse_query_xml("<nvidia_smi_log>" + "<gpu>" * 100_000)
    assert "too deep" in parsed.unread[0].why


CSV = """index, pci.bus_id, name, power.draw [W], clocks_throttle_reasons.active, remapped_rows.pending, count
0, 00000000:19:00.0, NVIDIA H100 80GB HBM3, 70.10 W, 0x0000000000000044, Yes, 8
Unable to determine the device handle for GPU1: 0000:3B:00.0: Unknown Error
2, 00000000:4C:00.0, [GPU is lost], [GPU is lost], [GPU is lost], [N/A], 8
3, 00000000:5D:00.0, NVIDIA H100 80GB HBM3
"""


def test_csv_rows_of_gpus_that_answer_stand_beside_the_one_that_is_lost():
    parsed = parse_query_csv(CSV)
    first, third = of_type(GpuReport, parsed)
    assert (first.index, first.power.draw, first.remapped.pending, first.lost) == (0, 70.1, True, False)
    assert (third.index, third.name, third.lost, third.missing["name"]) == (2, None, True, Missing.LOST)
    assert one(GpuLost, parsed) == GpuLost(1, "0000:3b:00.0", "Unknown Error")
    assert (one(Driver, parsed).attached, one(Driver, parsed).reported) == (8, 2)
    assert [(line.number, line.why) for line in parsed.unread] == [(5, "has 3 values for 7 names")]


def test_a_mask_of_reasons_is_told_apart_where_the_reasons_were_not_asked_for():
    reasons = of_type(GpuReport, parse_query_csv(CSV))[0].event_reasons
    assert (reasons.sw_power_cap, reasons.hw_thermal_slowdown) == (True, True)
    assert (reasons.idle, reasons.hw_slowdown) == (False, False)


def test_csv_without_units_or_with_other_names_for_the_same_fills_the_same_fields():
    text = "gpu_name, gpu_bus_id, clocks.sm [MHz], retired_pages.dbe\nTesla T4, 00000000:00:1E.0, 585, 3\n"
    gpu = one(GpuReport, parse_query_csv(text))
    assert (gpu.name, gpu.bus_address, gpu.clocks.sm, gpu.retired.double_bit) == ("Tesla T4", "0000:00:1e.0", 585, 3)


def test_csv_without_its_line_of_names_is_unread_and_not_guessed_at():
    text = "0, 00000000:19:00.0, NVIDIA H100 80GB HBM3\n"
    assert not is_query_csv(text)
    assert [line.why for line in parse_query_csv(text).unread] == ["no line of names stands above"]


TEXTS = [XML, CSV, *(path.read_text() for path in sorted(DATA.iterdir()))]
INSERTED = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        ["\x00", "\x1b[1;31m", "\r", "\n", "9" * 5000, "<gpu>", "|", " : ", "&a;", "]]>", "\ufffd", " " * 200]
    ),
)


def read_all(text: str) -> Iterable[Parsed[Any]]:
    for tool in REPORTS:
        tool.recognizes(text[:HEAD])
        yield tool.parse(text)


@given(text=st.sampled_from(TEXTS), cuts=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.2), INSERTED), max_size=4))
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_no_text_however_mangled_makes_a_parser_raise_or_grow(text, cuts):
    for at, length, inserted in cuts:
        start = int(at * len(text))
        text = text[:start] + inserted + text[start + int(length * len(text)) :]
    for parsed in read_all(text):
        assert len(parsed.readings) <= MOST_READINGS
        assert len(parsed.unread) <= MOST_UNREAD


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\x00" * 5000,
        "a" * 1_000_000,
        " " * 1_000_000,
        " : " * 200_000,
        ("| " * 40 + "\n") * 5_000,
        "<nvidia_smi_log>" * 5_000,
        "<nvidia_smi_log>\ud800</nvidia_smi_log>",
        "," * 500_000,
        "#" * 500_000,
        "\n".join(" " * indent + "key" for indent in range(1_000)),
    ],
    ids=[
        "empty",
        "zeros",
        "one line",
        "blanks",
        "colons",
        "bars",
        "roots",
        "surrogate",
        "commas",
        "hashes",
        "indented",
    ],
)
def test_hostile_texts_are_read_without_raising(text):
    assert all(len(parsed.unread) <= MOST_UNREAD for parsed in read_all(text))
