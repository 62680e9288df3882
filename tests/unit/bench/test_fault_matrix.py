"""The data and the tables of ``python -m bench.faults``; the cells themselves are played by ``make faults``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bench.faults import __main__ as faults
from bench.faults.acts import Judgement, Promise
from bench.faults.harnesses import HARNESSES, REFERENCES
from bench.faults.judge import Cell, Result, play
from bench.faults.lies import ACTS, ALL_LIES
from bench.faults.table import as_text, by_promise, grid, read, write

PAGE = Path(__file__).parents[3] / "docs" / "faults.md"


def cell(act: str, result: Result, harness: str = "a") -> Cell:
    return Cell(harness, act, ACTS[act].promise, result, "because")


def test_there_are_forty_lies_and_each_is_another_one() -> None:
    assert len(ALL_LIES) >= 40
    assert len({act.does for act in ALL_LIES}) == len({act.id for act in ALL_LIES}) == len(ALL_LIES)
    assert {act.promise for act in ACTS.values()} == set(Promise)
    assert {act.judgement for act in ACTS.values()} == set(Judgement)


@pytest.mark.parametrize("name", [*HARNESSES, *REFERENCES])
def test_a_harness_says_what_it_claims_and_names_only_what_exists(name: str) -> None:
    harness = {**HARNESSES, **REFERENCES}[name]
    assert harness.settings.endswith(".")
    assert set(harness.claims) <= set(Promise)
    assert set(harness.absent) <= {*ACTS, *Promise}
    assert set(harness.only) <= set(ACTS)


def test_what_is_not_claimed_never_fails_and_what_was_not_run_is_not_counted() -> None:
    cells = grid(
        [
            cell("lie-claim", Result.HOLDS),
            cell("lie-skip", Result.NOT_CLAIMED),
            cell("hang", Result.FAILS),
            cell("hang-stubborn", Result.HOLDS),
            cell("disk", Result.COULD_NOT_RUN),
            cell("limit", Result.NOT_APPLICABLE),
        ]
    )
    rows = {row[0]: row[1] for row in by_promise(cells, ["a"])}
    assert rows == {
        Promise.LIES: "1 of 2 not claimed",
        Promise.HANGS: "1 of 2 FAILS",
        Promise.LIMITS: "-",
        Promise.DISK: "could not run",
    }
    assert as_text([["x", "yes"]], ["", "a"]) == ["   a", "x  yes"]


def test_a_later_run_replaces_its_cells_and_keeps_the_others(tmp_path: Path) -> None:
    file = tmp_path / "faults.json"
    write(file, {"a": {"version": "1"}}, grid([cell("hang", Result.FAILS), cell("limit", Result.HOLDS)]))
    earlier = read(file)
    write(file, earlier["harnesses"], grid([*earlier["cells"], cell("hang", Result.HOLDS)]))
    told = {each["act"]: each["result"] for each in json.loads(file.read_text())["cells"]}
    assert told == {"hang": "holds", "limit": "holds"}


def test_a_harness_without_its_checkout_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAULTS_SNARKTANK", raising=False)
    played = play(HARNESSES["snarktank-ralph"], ACTS["honest"])
    assert played.result is Result.COULD_NOT_RUN
    assert "set FAULTS_SNARKTANK to a checkout" in played.evidence


@pytest.mark.parametrize(
    ("option", "said"),
    [("--harness=nobody", "unknown harness nobody"), ("--act=nothing", "unknown act nothing")],
)
def test_an_unknown_name_is_refused(option: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        faults.main([option])
    assert raised.value.code == 2
    assert said in capsys.readouterr().err


def test_the_page_shows_what_the_file_beside_it_says() -> None:
    document = read(PAGE.with_suffix(".json"))
    page = PAGE.read_text()
    names = list(document["harnesses"])
    for row in by_promise(grid(document["cells"]), names):
        assert f"| {' | '.join(row)} |" in page, (
            "run `python -m bench.faults --json docs/faults.json --markdown`"
        )
    for name, told in document["harnesses"].items():
        assert told["version"] in page, name
