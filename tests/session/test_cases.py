"""Real incidents, judged from their files alone: class, part, confidence, and what must or must not be said."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

import pytest
from lanescope.session.files.diagnosis import Diagnosis, diagnose
from lanescope.session.files.report import diagnosis_report

CASES = Path(__file__).parents[3] / "shared" / "incidents" / "cases"
WORDS = {"high": ("likely", "confirmed"), "medium": ("possible",), "low": ("possible", "unknown")}
"""What the answer key calls a confidence, and the words that are as sure as that; any surer one is wrong."""
TELLING = re.compile(
    r"\b(?:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?|n\d{3}|gpu ?\d|node-[a-z]|rack\S+|fabric ?manager)", re.I
)
"""What in the key's words names a part: addresses, nodes, GPUs, a service."""

if not CASES.is_dir():
    pytest.skip("the shared cases are not here", allow_module_level=True)


def names() -> list[str]:
    return sorted(path.name for path in CASES.iterdir() if (path / "case.toml").is_file())


def case(name: str) -> dict:
    return tomllib.loads((CASES / name / "case.toml").read_text())


@pytest.fixture(scope="module")
def diagnosed(tmp_path_factory: pytest.TempPathFactory):
    """The diagnosis of a case: its files in a folder named after their host, and nothing else of it."""
    done: dict[str, Diagnosis] = {}

    def of(name: str) -> Diagnosis:
        if name not in done:
            told, folder = case(name), tmp_path_factory.mktemp(name)
            for file in told["file"]:
                host = re.sub(r"[^\w.-]", "-", file.get("host") or "somewhere")
                place = folder / host / file["path"]
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(CASES / name / file["path"], place)
            done[name] = diagnose([folder], told["symptom"], told["hardware"])
        return done[name]

    return of


def claims(found: Diagnosis) -> str:
    everything = (*found.findings, *found.consequences)
    return " ".join(" ".join([one.title, one.next, *one.argues_against]) for one in everything).lower()


@pytest.mark.parametrize("name", names())
def test_the_first_finding_has_the_class_of_the_answer(name, diagnosed):
    expected = case(name)["expected"]
    assert diagnosed(name).findings[0].fault_class in (expected["class"], *expected.get("also_accept_class", []))


@pytest.mark.parametrize("name", names())
def test_it_is_as_sure_as_the_evidence_allows_and_no_surer(name, diagnosed):
    assert str(diagnosed(name).findings[0].confidence) in WORDS[case(name)["expected"]["confidence"]]


@pytest.mark.parametrize("name", names())
def test_no_other_finding_is_surer_than_the_answer(name, diagnosed):
    first, *others = diagnosed(name).findings
    sure = ("unknown", "possible", "likely", "confirmed")
    assert all(sure.index(one.confidence) <= max(sure.index(first.confidence), 1) for one in others if one.is_fault)


@pytest.mark.parametrize("name", names())
def test_the_part_is_named(name, diagnosed):
    found = diagnosed(name)
    said = f"{found.findings[0].component} {found.findings[0].title}".lower().replace(" ", "")
    telling = [match.lower().replace(" ", "") for match in TELLING.findall(case(name)["expected"]["component"])]
    assert not telling or any(word in said for word in telling), telling


@pytest.mark.parametrize("name", names())
def test_what_has_to_be_mentioned_is_claimed(name, diagnosed):
    said = claims(diagnosed(name))
    assert [word for word in case(name)["expected"]["must_mention"] if word.lower() not in said] == []


@pytest.mark.parametrize("name", names())
def test_what_would_mislead_is_not_claimed(name, diagnosed):
    said = claims(diagnosed(name))
    wrong = case(name)["expected"]["must_not_say"]
    assert [word for word in wrong if re.search(rf"(?<!\w){re.escape(word.lower())}(?!\w)", said)] == []


@pytest.mark.parametrize("name", names())
def test_the_report_fits_eighty_columns(name, diagnosed):
    assert max(map(len, diagnosis_report(diagnosed(name)).splitlines())) <= 80


@pytest.mark.parametrize("name", names())
def test_what_is_told_of_it_changes_nothing(name, diagnosed, tmp_path):
    told = diagnosed(name)
    for file in case(name)["file"]:
        place = tmp_path / re.sub(r"[^\w.-]", "-", file.get("host") or "somewhere") / file["path"]
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(CASES / name / file["path"], place)
    assert [one.key for one in diagnose([tmp_path]).findings] == [one.key for one in told.findings]
