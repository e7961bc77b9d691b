"""What the field knows is typed, complete, and says of every real line one thing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pynvml
import pytest
from lanescope.incident import nvlink5, xid74
from lanescope.incident.codes import (
    XidCode,
    action_texts,
    cite,
    families,
    patterns,
    recovery_actions,
    sxid_code,
    sxid_codes,
    xid_code,
    xid_codes,
)
from lanescope.incident.counter_facts import CounterFacts, counters, log_signatures, widths
from lanescope.incident.facts import table
from lanescope.parsers.logs.system_log import parse_system_log
from lanescope.parsers.logs.xid import Xid
from lanescope.parsers.logs.xid_details import NvLink5Event

CAPTURES = Path(__file__).parents[3] / "shared" / "captures" / "kernel-log"

NVML_NAMES = {
    "ECC per location (volatile 7-17, aggregate 18-28)": ("NVML_FI_DEV_ECC_",),
    "NVML_FI_DEV_RETIRED_SBE / _DBE": ("NVML_FI_DEV_RETIRED_SBE", "NVML_FI_DEV_RETIRED_DBE"),
    "NVML_FI_DEV_RETIRED_PENDING": ("NVML_FI_DEV_RETIRED_PENDING",),
    "NVML_FI_DEV_REMAPPED_ROWS_*_INACTIVE": ("NVML_FI_DEV_REMAPPED_",),
    "NVML_FI_DEV_NVLINK_LINK_COUNT / NVSWITCH_CONNECTED_LINK_COUNT": (
        "NVML_FI_DEV_NVLINK_LINK_COUNT",
        "NVML_FI_DEV_NVSWITCH_CONNECTED_LINK",
    ),
    "NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_0..15": ("NVML_FI_DEV_NVLINK_COUNT_FEC_HISTORY_",),
    "NVML_FI_DEV_NVLINK_COUNT_RAW_ERRORS_LANE0/1, RAW_BER_*_V2": ("NVML_FI_DEV_NVLINK_COUNT_RAW_",),
    "NVML_FI_DEV_NVLINK_PLR_XMIT_BLOCKS / _RETRY_BLOCKS": ("NVML_FI_DEV_NVLINK_PLR_",),
    "NVML_FI_DEV_C2C_LINK_COUNT / STATUS / MAX_BW": ("NVML_FI_DEV_C2C_LINK_",),
    "NVML_FI_DEV_C2C_LINK_ERROR_INTR / REPLAY / REPLAY_B2B": ("NVML_FI_DEV_C2C_LINK_ERROR_",),
    "temperature margin (T.Limit)": ("NVML_FI_DEV_TEMPERATURE_",),
    "NVML_FI_DEV_POWER_CURRENT_LIMIT vs DEFAULT_LIMIT": ("NVML_FI_DEV_POWER_",),
    "power-smoothing lifetime": ("NVML_FI_PWR_SMOOTHING_",),
}
"""What NVML calls the fields of rows that stand for several; other rows are named as NVML names them."""


def nvml_constants() -> dict[int, list[str]]:
    found: dict[int, list[str]] = {}
    for name, value in vars(pynvml).items():
        if name.startswith("NVML_FI_") and isinstance(value, int):
            found.setdefault(value, []).append(name)
    return found


def events() -> list[tuple[int, NvLink5Event]]:
    """Every NVLink5 line of the real logs."""
    if not CAPTURES.is_dir():
        pytest.skip("the shared captures are not here")
    texts = [path.read_bytes().decode("utf-8", "replace") for path in sorted(CAPTURES.glob("*.log"))]
    readings = [line.reading for text in texts for line in parse_system_log(text).readings]
    xids = [one for one in readings if isinstance(one, Xid)]
    return [(xid.code, xid.detail) for xid in xids if isinstance(xid.detail, NvLink5Event)]


def word_of(mask: str) -> int:
    return int(mask.replace("-", "0"), 2)


def test_every_code_of_a_table_is_there_once():
    assert (len(xid_codes()), len(sxid_codes())) == (len(table("xid")["xid"]), len(table("sxid")["sxid"]))
    assert len(recovery_actions()) == len(table("xid")["xid154"])
    assert len(families()) == len(table("sxid")["family"])
    assert len(counters()) == len(table("counters")["counter"])
    assert len(log_signatures()) == len(table("counters")["log_signature"])


def test_every_action_of_every_row_is_explained():
    xids, sxids = action_texts("xid"), action_texts("sxid")
    used = {word for row in xid_codes().values() for word in (row.action, row.investigate)}
    used |= {row.action for row in recovery_actions().values()} | {row.then for row in patterns()}
    used |= {row.action for row in xid74.register_bits()} | {"contact_vendor"}
    used |= {word for row in nvlink5.sub_codes() for word in (row.action, row.investigate)}
    used |= {row.promoted_action for row in nvlink5.sub_codes() if row.promoted_action}
    assert used <= set(xids)
    assert {row.action for row in sxid_codes().values()} <= set(sxids)


def test_the_types_vocabularies_are_those_of_the_tables():
    assert set(XidCode.__annotations__) >= {"component", "severity", "hw_fault_likely"}
    meta = table("xid")["meta"]
    fields = {field.name: field.type for field in msgspec.structs.fields(XidCode)}
    assert set(fields["component"].__args__) == set(meta["components"])
    assert set(fields["severity"].__args__) == set(meta["severity_scale"])
    assert set(fields["hw_fault_likely"].__args__) == set(meta["hw_fault_scale"])
    blamed = {field.name: field.type for field in msgspec.structs.fields(CounterFacts)}["component"].__args__[0]
    assert set(blamed.__args__) == set(table("counters")["meta"]["components"])


@pytest.mark.parametrize(
    "change",
    [{"component": "engine"}, {"severity": "awful"}, {"hw_fault_likely": "surely"}, {"code": "79"}, {"colour": "red"}],
)
def test_a_row_with_a_word_outside_the_vocabulary_or_a_field_too_many_is_refused(change):
    row = table("xid")["xid"][0] | change
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(row, XidCode)


def test_a_row_that_lacks_a_field_is_refused():
    row = {key: value for key, value in table("xid")["xid"][0].items() if key != "meaning"}
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(row, XidCode)


def test_every_row_names_its_sources():
    rows = [*xid_codes().values(), *sxid_codes().values(), *counters().values(), *log_signatures().values()]
    assert all(row.sources for row in rows)
    assert all(row.source for row in (*nvlink5.sub_codes(), *xid74.register_bits(), *recovery_actions().values()))
    assert all(cite("widths", row.source) != row.source for row in widths().values())


def test_a_short_source_name_is_given_in_full_with_its_remark():
    assert cite("xid", "crusoe") == "Crusoe Cloud health documentation, Xid list"
    assert cite("xid", "crusoe (any)") == "Crusoe Cloud health documentation, Xid list (any)"
    assert cite("xid", "open-gpu-kernel-modules issue #507") == "open-gpu-kernel-modules issue #507"


def test_where_sources_disagree_each_is_named_with_what_it_says():
    said = {one.source: one.says for one in xid_code(63).disagreements}
    assert said["nvidia_catalog"] == "IGNORE, then IGNORE"
    assert said["gpud"] == "Fatal: RebootSystem, HardwareInspection"
    assert said["gcm"] == "not critical"
    assert said["aws"] == "MONITOR"
    assert said["aznhc"] == "fails the node"


def test_where_the_sources_agree_nobody_disagrees():
    assert xid_code(1).disagreements == ()
    assert xid_code(1).statements


def test_a_disagreement_about_an_sxid_names_driver_guide_and_table():
    assert {one.source for one in sxid_code(20009).disagreements} >= {"fm_guide", "nvsentinel"}
    assert sxid_code(11011).disagreements == ()


def test_every_disagreement_that_the_sxid_table_notes_is_found_at_its_code():
    noted = " ".join(table("sxid")["disagreements"]["items"])
    assert all(str(code) in noted for code, row in sxid_codes().items() if row.disagreement)
    assert {12028, 19084, 24007, 23009, 28006} <= {code for code, row in sxid_codes().items() if row.disagreement}


@pytest.mark.parametrize("row", [row for row in counters().values() if row.nvml_fields], ids=lambda row: row.id)
def test_every_nvml_field_id_is_nvmls_own_for_that_name(row):
    known = nvml_constants()
    wanted = NVML_NAMES.get(row.id, (row.id.removesuffix("_*"),))
    for field in row.nvml_fields:
        assert any(name.startswith(wanted) for name in known.get(field, [])), (field, known.get(field))


def test_a_row_of_one_field_is_named_as_nvml_names_it():
    rows = [row for row in counters().values() if row.field_id is not None and row.id not in NVML_NAMES]
    assert {row.id: getattr(pynvml, row.id) for row in rows} == {row.id: row.field_id for row in rows}


def test_every_width_belongs_to_a_counter_and_gives_its_ceiling():
    assert set(widths()) <= set(counters())
    assert counters()["link_downed"].width.ceiling == 255
    assert counters()["excessive_buffer_overrun_errors"].width.ceiling == 15
    assert counters()["symbol_error"].width.ceiling == 65535
    assert counters()["out_of_sequence"].width is None


def test_limits_are_numbers_with_their_window():
    limits = {(one.word, one.value, one.per) for one in counters()["symbol_error"].limits}
    assert limits == {("suspicious", 10.0, "hour"), ("bad", 120.0, "hour")}


def test_every_nvlink5_line_of_the_real_logs_decodes_to_exactly_one_row():
    found = [(code, event, nvlink5.decode(code, event.unit, event.words)) for code, event in events()]
    assert len(found) == 19
    assert [(code, event) for code, event, rows in found if len(rows) != 1] == []
    assert {rows[0].layout for _, _, rows in found} == {nvlink5.Layout.BEFORE_R575}


def test_the_severity_printed_is_that_of_the_row_it_decodes_to():
    for code, event in events():
        (one,) = nvlink5.decode(code, event.unit, event.words)
        assert one.row.severity.replace("-", "").endswith(event.severity)


@pytest.mark.parametrize("row", nvlink5.sub_codes(), ids=lambda row: f"{row.xid} {row.unit} {row.error_status}")
def test_every_row_of_the_sheet_is_found_by_its_own_words(row):
    status = row.statuses[0] if row.statuses else 0
    new = nvlink5.decode(row.xid, row.units[-1], (word_of(row.mask_from_r575), status))
    assert [one.row for one in new] == [row]
    old = nvlink5.decode(row.xid, row.units[-1], (word_of(row.mask_before_r575), status))
    assert [one.row for one in old] == [row]


def test_a_promoted_event_asks_for_the_graver_action():
    row = next(row for row in nvlink5.sub_codes() if row.promoted_mask_from_r575)
    (one,) = nvlink5.decode(row.xid, row.unit, (word_of(row.promoted_mask_from_r575), row.statuses[0]))
    assert (one.promoted, one.action, row.action) == (True, "reset_gpu", "ignore")


def test_a_status_of_several_bits_gives_the_row_of_each():
    found = nvlink5.decode(145, "RLW_SRC_TRACK", (0x040988E2, 0x8 | 0x1))
    assert {one.row.error_status for one in found} == {"0x00000001", "0x00000008"}


@pytest.mark.parametrize(
    ("unit", "words"), [("RLW_SRC_TRACK", ()), ("RLW_NOBODY", (0x040988E2, 8)), ("RLW_SRC_TRACK", (0x7F, 8))]
)
def test_words_that_fit_no_row_decode_to_none(unit, words):
    assert nvlink5.decode(145, unit, words) == ()


def test_the_bits_of_an_xid_74_are_told_by_register_and_unlisted_ones_are_too():
    found = xid74.decode((1 << 16 | 1 << 28, 0, 1 << 16, 0, 0, 0, 1 << 2))
    assert [(one.row.register, one.bits, one.row.action) for one in found] == [
        (1, (16, 28), "check_mechanical"),
        (3, (16,), "run_field_diag"),
        (7, (2,), "contact_vendor"),
    ]


def test_no_bit_of_an_xid_74_is_listed_twice():
    listed = [(row.register, bit) for row in xid74.register_bits() for bit in row.bits]
    assert len(listed) == len(set(listed))
    for register, bit in listed:
        registers = [0] * 7
        registers[register - 1] = 1 << bit
        assert [one.row.register for one in xid74.decode(registers)] == [register]


def test_registers_without_a_bit_mean_nothing():
    assert xid74.decode((0,) * 7) == ()
    assert xid74.decode(()) == ()


def test_what_xid_154_asks_for_is_known_by_number():
    assert recovery_actions()[1].action == "reset_gpu"
    assert recovery_actions()[2].action == "reboot"
    assert set(recovery_actions()) == set(range(6))
