"""The arithmetic and the page of ``python -m bench.peers``; the measurements themselves are no tests."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from bench.child import CannotMeasure
from bench.peers import __main__ as peers
from bench.peers.contenders import BARE, CONTENDERS, RALPH
from bench.peers.figures import (
    LOADS,
    PYTHON,
    STREAMS,
    TOO_SHORT,
    UNCLEAR,
    Cell,
    Figure,
    Job,
    Measured,
    goals,
    lines,
)
from bench.peers.habits import Habits
from bench.peers.page import render
from bench.peers.plays import Played, problem
from bench.row import Bar, as_ratio
from bench.stream_data import MEGABYTE

PEER = "ralph-loop"
UNREAD = "reads no stream"
MANY_ITERATIONS = 11


def played(
    wall: float = 1.0,
    *,
    cpu: float = 0.5,
    to_exec: float = 0.25,
    tree: int = 0,
    largest: int = 0,
    code: int | None = 0,
    sessions: int = 1,
    printed: tuple[int, ...] = (100,),
    output: str = "",
) -> Played:
    return Played(
        wall=wall,
        cpu=cpu,
        code=code,
        left=(),
        tree=tree * MEGABYTE,
        largest=largest * MEGABYTE,
        began=(to_exec,) * sessions,
        printed=printed,
        output=output,
    )


def measured(
    *, runs: Mapping[tuple[str, Job], list[Played]] | None = None, names: tuple[str, ...] = (RALPH, BARE)
) -> Measured:
    """An iteration takes 10 ms in the bare loop and 15 ms in ralph, which reads 100 MB in a second; json.loads takes two."""
    usual = {
        (BARE, Job.ONE): [played(0.5, cpu=0.2)] * 3,
        (BARE, Job.MANY): [played(0.6, cpu=0.3)] * 3,
        (PYTHON, Job.ONE): [played(0.05, cpu=0.05)] * 3,
        (LOADS, Job.ONE): [played(0.5)] * 3,
        (RALPH, Job.ONE): [played(1.0, cpu=0.5, to_exec=0.25)] * 3,
        (RALPH, Job.MANY): [played(1.15, cpu=0.7)] * 3,
        **{(LOADS, job): [played(2.5)] * 3 for job in STREAMS},
        **{(RALPH, job): [played(2.0)] * 3 for job in STREAMS},
    }
    return Measured(
        names=names,
        many=dict.fromkeys((*names, BARE), MANY_ITERATIONS),
        sizes=dict.fromkeys(STREAMS, 100 * MEGABYTE),
        titles={Job.EVENTS: "events", Job.RESULTS: "results", Job.LINE: "one line"},
        runs={**usual, **(runs or {})},
        peaks={
            **{(LOADS, job): played(tree=10) for job in STREAMS},
            **{(name, job): played(tree=50, largest=40) for name in names for job in STREAMS},
        },
        problems={(BARE, job): UNREAD for job in STREAMS},
    )


def shown(cell: Cell) -> tuple[float, float]:
    assert isinstance(cell, Figure), cell
    return cell.ratio, cell.raw


def test_every_line_is_a_ratio_to_its_baseline_with_the_figure_beside_it() -> None:
    found = {line.key: line for line in lines(measured())}
    assert shown(found["iteration"].cells[RALPH]) == pytest.approx((1.5, 5.0))
    assert shown(found["iteration CPU"].cells[RALPH]) == pytest.approx((2.0, 10.0))
    assert shown(found["exec"].cells[RALPH]) == pytest.approx((5.0, 250.0))
    assert shown(found["run CPU"].cells[RALPH]) == pytest.approx((10.0, 500.0))
    assert shown(found[Job.EVENTS].cells[RALPH]) == pytest.approx((2.0, 100.0))
    assert shown(found["line memory"].cells[RALPH]) == pytest.approx((5.0, 50.0))
    assert found[Job.EVENTS].cells[BARE] == UNREAD


def test_the_start_is_taken_off_from_the_agents_exec_on() -> None:
    """Whether a start was slow that time does not matter to the speed of the stream."""
    slow = {(RALPH, Job.EVENTS): [played(9.0, to_exec=7.25)] * 3}
    (line,) = [line for line in lines(measured(runs=slow)) if line.key == Job.EVENTS]
    assert shown(line.cells[RALPH]) == pytest.approx((2.0, 100.0))


def test_a_busy_moment_does_not_count() -> None:
    busy = {(RALPH, Job.MANY): [played(1.15), played(9.0), played(1.15)]}
    (line,) = [line for line in lines(measured(runs=busy)) if line.key == "iteration"]
    assert shown(line.cells[RALPH]) == pytest.approx((1.5, 5.0))


def test_the_best_is_marked_and_never_the_bare_loop() -> None:
    peer = {(PEER, job): [played(1.5)] * 3 for job in Job}
    found = {line.key: line for line in lines(measured(runs=peer, names=(RALPH, PEER, BARE)))}
    assert found["iteration"].best == RALPH
    assert found["iteration"].cells[PEER] == UNCLEAR
    slower = {**peer, (PEER, Job.MANY): [played(9.0)] * 3, (PEER, Job.EVENTS): [played(1.75)] * 3}
    found = {line.key: line for line in lines(measured(runs=slower, names=(RALPH, PEER, BARE)))}
    assert found["iteration"].best == RALPH
    assert found[Job.EVENTS].best == PEER


def test_what_lies_within_the_noise_is_no_figure() -> None:
    short = {(RALPH, job): [played(1.0)] * 3 for job in Job}
    found = {line.key: line.cells[RALPH] for line in lines(measured(runs=short))}
    assert found["iteration"] == found[Job.EVENTS] == UNCLEAR


def test_a_run_too_short_for_its_memory_says_so() -> None:
    whole = measured()
    hasty = Measured(**{**vars(whole), "peaks": {**whole.peaks, (RALPH, Job.LINE): played(tree=0)}})
    found = {line.key: line.cells[RALPH] for line in lines(hasty)}
    assert found["line memory"] == TOO_SHORT


def test_without_a_baseline_there_is_no_comparison() -> None:
    with pytest.raises(CannotMeasure, match=r"nothing to compare with: json\.loads, line"):
        lines(measured(runs={(LOADS, Job.LINE): []}))


def test_goals_are_met_or_missed_and_one_that_could_not_be_measured_is_missed() -> None:
    whole = measured()
    starts = [
        as_ratio("ralph --version", 15.0, "ms", 10.0, Bar(1.6)),
        as_ratio("its watcher", 9.0, "ms", 10.0),
    ]
    rows = {goal.name: goal for goal in goals(whole, lines(whole), starts)}
    assert not rows["an iteration over the bare loop"].is_met
    assert not rows["events"].is_met
    assert rows["peak memory on one line, all processes"].is_met
    assert not rows["peak memory on the other streams, all processes"].is_met
    assert rows["peak memory on the other streams, its largest process"].is_met
    assert rows["ralph --version"].is_met
    assert "its watcher" not in rows
    stuck = measured(runs={(RALPH, Job.MANY): []})
    unknown = {goal.name: goal for goal in goals(stuck, lines(stuck), [])}["an iteration over the bare loop"]
    assert (unknown.value, unknown.is_met) == (None, False)


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (played(), ""),
        (played(code=None), "not done after 60 s"),
        (played(code=-9), "crashed: exit -9"),
        (played(sessions=0, output="/tmp/x/ralph: not found\n"), "never started the agent: ralph: not found"),
        (played(printed=(), output="a.ValueError: too long\nErrors: 0\n"), "crashed: ValueError: too long"),
        (played(sessions=3), "started the agent 3 times instead of 1"),
    ],
)
def test_a_run_that_did_something_else_is_no_measurement(run: Played, said: str) -> None:
    assert problem(run, 1, 100) == said


def test_the_page_says_who_could_not_be_had_and_leaves_no_cell_empty() -> None:
    whole = measured()
    found = lines(whole)
    tried = Habits("in `.ralph/`", "yes", "ends it")
    page = render(
        found=found,
        habits={RALPH: tried, BARE: Habits("none", "no", "leaves it running")},
        goals=goals(whole, found, []),
        names=[RALPH, BARE],
        absent={PEER: "could not be had: no network"},
        failures=["ralph, line: failed once: busy."],
        rounds=3,
        seconds=60.0,
    )
    rows = [line for line in page.splitlines() if line.startswith("|") and "---" not in line]
    assert "| **1.50x** (+5.00 ms) | could not be had: no network | 1.00x (+0.00 ms) |" in page
    assert f"| {UNREAD} |" in page
    assert "| an iteration over the bare loop | <= 2 ms | 5.00 ms | missed |" in page
    assert "- ralph, line: failed once: busy." in page
    assert page.count("could not be had: no network") == len(found) + 3 + 1
    for row in rows:
        assert all(cell.strip() for cell in row.strip("|").split("|")[1:-1]), row


def test_all_contenders_say_what_they_keep_and_check() -> None:
    first, *_, last = CONTENDERS
    assert (first, last) == (RALPH, BARE)
    keys = {line.key for line in lines(measured())}
    for contender in CONTENDERS.values():
        assert contender.record
        assert contender.guardrail
        assert set(contender.remarks) <= keys


def test_an_unknown_harness_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        peers.main(["--harness", "nobody"])
    assert raised.value.code == 2
    assert "unknown harness nobody" in capsys.readouterr().err


def test_without_a_compiler_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert peers.main(["--harness", RALPH, "--small"]) == 1
    assert "install a C compiler" in capsys.readouterr().err
