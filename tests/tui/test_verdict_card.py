"""The verdict: how sure in words and odds, what no probe separates, the swap test, what a vendor wants to be shown."""

from __future__ import annotations

import re

import msgspec
import pytest
from lanescope.incident.events import Blob, CommandEnded, VerdictReached
from lanescope.incident.facts import table
from lanescope.incident.ids import NodeId
from lanescope.probes.localize.words import NAMINGS, next_test
from lanescope.topology.sources.facts import build_fabric
from lanescope.tui.draw.canvas import text_of
from lanescope.tui.draw.collection import wanted_for
from lanescope.tui.draw.reading import odds_of
from lanescope.tui.draw.suspects import Pane
from lanescope.tui.draw.suspects_view import suspects_view
from lanescope.tui.draw.swap_test import SwapTest, swap_test
from lanescope.tui.draw.verdict import draw_verdict
from lanescope.tui.theme import Ink

from .made_up import MadeUp, nothing_found, rounds_on, verdict_on  # noqa: TID251 (this folder, not the room)

SIZES = [(120, 33), (80, 21)]


def drawn(made: MadeUp, size: tuple[int, int], pane: Pane = Pane.BELIEF) -> str:
    snapshot = made.snapshot()
    view = suspects_view(snapshot, build_fabric(snapshot.nodes.values()), None)
    return text_of(draw_verdict(view, *size, Ink(), pane))


@pytest.fixture
def convicted(faulty: MadeUp) -> MadeUp:
    rounds_on(faulty, "sim3", [(0.967, 0.01, 0.001)])
    faulty.take(verdict_on(faulty, "sim3"))
    return faulty


@pytest.mark.parametrize(
    ("posterior", "words"),
    [
        (0.967, "about 29 to 1"),
        (0.995, "about 199 to 1"),
        (0.9999, "over 999 to 1"),
        (1.0, "over 999 to 1"),
        (0.5, "about even"),
        (0.2, "about 1 to 4"),
    ],
)
def test_confidence_is_said_as_odds_and_never_as_certainty(posterior: float, words: str) -> None:
    assert odds_of(posterior) == words


@pytest.mark.parametrize("size", SIZES)
def test_the_card_says_how_sure_which_unit_and_what_no_probe_separates(
    convicted: MadeUp, size: tuple[int, int]
) -> None:
    text = drawn(convicted, size)
    assert "likely 97 %, about 29 to 1" in text
    assert "FRU gpu-module" in text
    assert "or  sim3 NVSW2 port 12: no probe tells them apart" in text


@pytest.mark.parametrize("size", SIZES)
def test_the_swap_test_is_a_table_of_what_is_seen_and_what_it_means(faulty: MadeUp, size: tuple[int, int]) -> None:
    rounds_on(faulty, "sim3", [(0.967, 0.01, 0.001)])
    end = verdict_on(faulty, "sim3")
    assert isinstance(end, VerdictReached)
    sentence = next_test("nvlink", end.verdicts[0].component)
    verdict = msgspec.structs.replace(end.verdicts[0], next=sentence)
    faulty.take(msgspec.structs.replace(end, verdicts=(verdict,)))
    text = drawn(faulty, size)
    assert "Swap sim3 GPU5 with a neighbour's" in text
    assert re.search(r"the fault follows the module +→ GPU side", text)
    assert re.search(r"it stays with the socket +→ baseboard or", text)
    assert "before a part is ordered the swap test tells whose fault it is" in " ".join(text.split())


def test_a_sentence_with_outcomes_is_taken_apart_and_any_other_is_all_steps() -> None:
    assert swap_test("swap a with b: the fault follows -> a; it stays -> the socket of 0000:16:00.0") == SwapTest(
        "swap a with b", (("the fault follows", "a"), ("it stays", "the socket of 0000:16:00.0"))
    )
    assert swap_test("look for a job on sim1/host, then probe again").outcomes == ()
    assert swap_test("follows -> a").outcomes == ()


@pytest.mark.parametrize("kind", sorted(NAMINGS))
def test_the_next_test_of_every_kind_of_part_can_be_laid_out(kind: str) -> None:
    sentence = next_test(kind, NodeId("sim1") / "gpu5" / "nvlink7")
    test = swap_test(sentence)
    assert "->" not in test.steps
    assert all(seen and means for seen, means in test.outcomes)
    assert ("->" in sentence) == bool(test.outcomes)


@pytest.mark.parametrize("size", SIZES)
def test_what_a_vendor_wants_is_listed_and_what_the_case_holds_is_ticked(
    convicted: MadeUp, size: tuple[int, int]
) -> None:
    assert "0 of 7 in this case" in drawn(convicted, size)
    for node, status in (("sim3", 0), ("sim4", 0)):
        convicted.take(
            CommandEnded(
                time=convicted.now, node=NodeId(node), argv=("nvidia-smi", "-q"), exit_status=status,
                stdout=Blob(sha256="", size=9), stderr=Blob(sha256="", size=0), started=0.0, ended=0.0,
            )
        )  # fmt: skip
    text = drawn(convicted, size)
    assert "1 of 7 in this case" in text
    assert "□ nvidia-bug-report.sh, before any reset" in text
    assert "■ nvidia-smi -q" in text


def test_a_command_that_failed_or_ran_elsewhere_is_not_held(convicted: MadeUp) -> None:
    for node, status in (("sim3", 9), ("sim4", 0)):
        convicted.take(
            CommandEnded(
                time=convicted.now, node=NodeId(node), argv=("nvidia-smi", "-q"), exit_status=status,
                stdout=Blob(sha256="", size=0), stderr=Blob(sha256="", size=0), started=0.0, ended=0.0,
            )
        )  # fmt: skip
    assert "0 of 7 in this case" in drawn(convicted, SIZES[0])


def test_every_exchangeable_unit_has_a_list_and_what_is_no_hardware_has_none() -> None:
    without = {"firmware", "software", "configuration", "none"}
    units = set(table("classes")["vocabulary"]["fru"])
    assert {unit for unit in units if not wanted_for(unit)} == without


def test_the_convicted_part_is_a_cross_on_the_map_of_the_verdict(convicted: MadeUp) -> None:
    text = drawn(convicted, SIZES[1], Pane.ROUND)
    row = next(line for line in text.splitlines() if line.startswith(" NVSW2"))
    assert row.count("×") == 1


@pytest.mark.parametrize("size", SIZES)
def test_nothing_found_says_what_that_excludes_and_what_was_not_tested(faulty: MadeUp, size: tuple[int, int]) -> None:
    rounds_on(faulty, "sim3", [(0.01, 0.01, 0.96)])
    faulty.take(nothing_found(faulty))
    text = drawn(faulty, size)
    assert "What this excludes 95 % confidence, per part" in text
    assert "NVSwitches    none faulty over 2 % of the time with 25 % or more lost" in text
    assert "44 rounds, 352 probes" in text
    assert "That has limits" in text


@pytest.mark.parametrize("pane", list(Pane), ids=[pane.name for pane in Pane])
@pytest.mark.parametrize("size", [*SIZES, (80, 20), (200, 60)])
def test_every_pane_of_an_end_fills_exactly_its_size(convicted: MadeUp, size: tuple[int, int], pane: Pane) -> None:
    snapshot = convicted.snapshot()
    view = suspects_view(snapshot, build_fabric(snapshot.nodes.values()), None)
    strips = draw_verdict(view, *size, Ink(ascii_only=True), pane)
    assert (len(strips), {strip.cell_length for strip in strips}) == (size[1], {size[0]})
    assert text_of(strips).isascii()
