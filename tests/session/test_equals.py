"""Results that equal GPUs must have alike: silent corruption that each GPU by itself can't see."""

import math

from lanescope.incident.events import Trial, TrialEnded
from lanescope.incident.ids import ComponentId, NodeId
from lanescope.probes.catalogue import CATALOGUE
from lanescope.session.equals import compared
from lanescope.session.probing import Aimed, Judgement, Outcome, Run

CHECKSUM = CATALOGUE["checksum"]


def outcome(part, *digests):
    target = ComponentId(part)
    trial = Trial(id="R1T1", probe="checksum", node=NodeId(target.node), targets=(target,), seconds=3.0)
    ended = TrialEnded(
        time=0.0, trial=trial, round=1, windows=(), moves=(), started=0.0, ended=3.0, check="good", digests=digests
    )
    return Outcome(Aimed(CHECKSUM, (target,), math.nan), (Run("J1", ended),))


def one_model(part):
    return "H100"


def test_a_gpu_that_computes_otherwise_than_its_equals_on_other_nodes_is_wrong():
    outcomes = [outcome(f"n{node}/gpu0", "integer aa", "single precision bb") for node in range(1, 4)]
    odd = outcome("n9/gpu5", "integer aa", "single precision cc")
    *good, wrong = compared([*outcomes, odd], one_model)
    assert {one.judgement for one in good} == {Judgement.GOOD}
    assert wrong.judgement is Judgement.WRONG
    assert wrong.exit_code == 1
    assert "single precision result cc differs from bb" in wrong.odd


def test_of_two_nobody_knows_which_is_wrong():
    outcomes = [outcome("n1/gpu0", "integer aa"), outcome("n2/gpu0", "integer bb")]
    assert [one.odd for one in compared(outcomes, one_model)] == ["", ""]


def test_gpus_of_different_models_are_no_equals():
    outcomes = [outcome(f"n{node}/gpu0", "integer aa") for node in range(3)] + [outcome("n9/gpu0", "integer bb")]
    assert not any(one.odd for one in compared(outcomes, lambda part: part.node))


def test_where_no_result_is_in_the_majority_nobody_is_accused():
    outcomes = [outcome(f"n{at}/gpu0", f"integer {'aaabbbc'[at]}") for at in range(7)]
    assert not any(one.odd for one in compared(outcomes, one_model))
