"""`ralph run`, shift by shift: what one process decides, many decide."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest

from ralph.adapters.storage.shift_files import read_end
from ralph.domain.fleet.shift import Steer
from ralph.domain.fleet.shift_variable import SHIFT
from tests.acceptance.conftest import DONE, PROMPT, Project
from tests.acceptance.conftest import project as project
from tests.acceptance.running import wait_for
from tests.acceptance.test_limits import limited

from .shifting import Worker, assert_same, decisions, kinds, prompts, twin


def write(content: str) -> dict[str, object]:
    return {"write": {"path": "work.txt", "content": content}}


@pytest.mark.parametrize("profile", ["basic", "promise"])
def test_a_prompt_run_is_the_same_in_shifts(project: Project, profile: str) -> None:
    project.git("init", "-q", "-b", "main")
    (project.root / "test_it.py").write_text(
        "def test_it():\n    assert open('work.txt').read() == 'right'\n"
    )
    project.git("add", "test_it.py")
    project.git("commit", "-qm", "start")
    project.settings(agent={"command": "claude"}, guardrails=["python3 -m pytest -q test_it.py"])
    done = "<promise>DONE</promise>" if profile == "promise" else DONE
    project.agent(
        [write("wrong"), {"say": done}], [{"say": "hm"}], [write("right"), {"say": "almost"}], [{"say": done}]
    )
    words = ("run", "-p", f"Do it, then output {done}.", "--profile", profile)
    other = twin(project)

    project.ralph(*words, check=0)
    worker = Worker(other)
    end = worker.run(*words)

    assert_same(project, other)
    assert (end.outcome, end.exit_code, end.iteration, end.decision) == ("completed", 0, 4, "accept")
    assert [one.want for one in worker.ends] == ["session"] * 3 + [""]
    assert end.cost == pytest.approx(4 * 0.0123)


OVERLOADED = {"type": "result", "is_error": True, "result": "API Error: 529 Overloaded"}


def faulty() -> list[dict[str, object]]:
    return [{"print": json.dumps(OVERLOADED)}, {"exit": 1}]


def test_limits_of_iterations_and_money_end_it_after_the_same_session(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "no"}])
    by_money = ("run", "-p", PROMPT, "--max-cost", "0.03")
    other = twin(project)
    project.ralph(*by_money, check=1)

    end = Worker(other).run(*by_money)

    assert_same(project, other)
    assert (end.outcome, end.exit_code, end.iteration) == ("exhausted", 1, 3)
    assert "budget reached" in end.reason


def test_what_was_lost_with_a_machine_is_spent_and_what_was_waited_is_time(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "no"}])
    worker = Worker(project)
    words = ("run", "-p", PROMPT, "--max-cost", "1", "--max-time", "1000")

    first = worker.shift(*words, lost_cost=0.2, lost_tokens=7)
    assert first.cost == pytest.approx(0.2123)
    second = worker.shift(lost_cost=0.1, waited=100.0)
    assert second.cost == pytest.approx(0.3246)
    assert 100 <= second.run_seconds < 130
    assert second.tokens - first.tokens == first.tokens - 7

    end = worker.shift(waited=1000.0)
    assert end.outcome == "exhausted"
    assert "time" in end.reason
    assert end.iteration == 2


def test_a_standstill_is_counted_over_all_shifts(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    (project.root / "a.txt").write_text("a")
    project.git("add", "a.txt")
    project.git("commit", "-qm", "start")
    project.settings(agent={"command": "claude"}, limits={"stuckAfter": 3})
    project.agent([{"say": "no"}])
    other = twin(project)
    project.ralph("run", "-p", PROMPT, check=1)

    end = Worker(other).run("run", "-p", PROMPT)

    assert_same(project, other)
    assert end.outcome == "exhausted"
    assert end.iteration == 3


def test_a_fault_is_waited_for_elsewhere_and_counts_on(project: Project) -> None:
    project.settings(agent={"command": "claude"}, limits={"maxAttempts": 3})
    project.agent(faulty())
    worker = Worker(project)

    end = worker.run("run", "-p", PROMPT)

    waits = [(one.want, one.seconds) for one in worker.ends[:-1]]
    assert waits == [("wait", 5.0), ("wait", 10.0)], "the same backoff as in one process"
    assert "529" in worker.ends[0].reason
    assert (end.outcome, end.iteration) == ("failed", 0)
    assert [row[:2] for row in decisions(project)] == [(1, 1), (1, 2), (1, 3)]
    assert "interrupted" not in prompts(project)[-1][1], "no session was cut off"


def test_a_usage_limit_is_waited_for_elsewhere(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent(limited(time.time() + 3600), [{"say": DONE}])
    worker = Worker(project)

    first = worker.shift("run", "-p", PROMPT)
    assert first.want == "wait"
    assert 3500 < first.seconds < 3700
    assert worker.shift().outcome == "completed"
    assert kinds(project).count("run_started") == 1


def test_a_note_goes_into_one_prompt_and_into_each_attempt_of_its_iteration(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent(faulty(), [{"say": "no"}], [{"say": "no"}], [{"say": DONE}])
    worker = Worker(project)
    notes = (Steer(number=1, text="mind the gap"), Steer(number=2, text="look up"))

    assert worker.shift("run", "-p", PROMPT, notes=notes).heard == 0, "it is for the next attempt too"
    assert worker.shift(notes=notes).heard == 2
    assert worker.shift().heard == 0
    assert worker.shift().outcome == "completed"

    texts = [text for _, text in prompts(project)]
    assert [text.count("mind the gap") for text in texts] == [1, 1, 0, 0]
    assert texts[0].index("mind the gap") < texts[0].index("look up")


def test_a_shift_that_was_killed_is_done_again_from_what_was_saved(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    (project.root / "a.txt").write_text("a")
    project.git("add", "a.txt")
    project.git("commit", "-qm", "start")
    project.settings(agent={"command": "claude"}, guardrails=["grep -q right work.txt"])
    started = project.programs / "started"
    project.agent([write("wrong"), {"say": DONE}], [write("right"), {"say": DONE}])
    words = ("run", "-p", PROMPT)
    other = twin(project)
    project.ralph(*words, check=0)
    worker = Worker(other)
    worker.shift(*words)
    script = (other.programs / "claude.json").read_text()
    saved = other.root.parent / "saved"
    shutil.copytree(other.root, saved, symlinks=True)
    # A session that never ends, in a worker that is killed.
    other.agent([write("half"), {"touch": str(started)}, {"sleep": 600}])
    worker.order()
    with subprocess.Popen(
        [sys.executable, "-m", "ralph", "resume", worker.ends[-1].run_id],
        cwd=other.root,
        env=other.env(**{SHIFT: str(worker.folder)}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for(started.exists, "the session has begun")
        process.kill()
    assert read_end(worker.folder) is None
    shutil.rmtree(other.root)
    shutil.copytree(saved, other.root, symlinks=True)
    (other.programs / "claude.json").write_text(script)

    (other.programs / "claude.sessions").write_text("1")
    end = worker.shift(lost_cost=0.01)

    assert end.outcome == "completed"
    assert decisions(other) == decisions(project)
    assert prompts(other) == prompts(project), "nobody is told of a session that never happened"
    assert end.cost == pytest.approx(2 * 0.0123 + 0.01)


def test_what_is_wrong_before_the_run_begins_is_told_to_the_worker(project: Project) -> None:
    project.settings(agent={"command": "nobody-has-this"})
    worker = Worker(project)

    end = worker.shift("run", "-p", PROMPT)
    assert (end.outcome, end.want, end.exit_code) == ("", "", 4)
    assert "nobody-has-this" in end.reason
    assert end.hint

    worker = Worker(project)
    end = worker.shift("run", "--no-such-flag")
    assert (end.outcome, end.want, end.exit_code) == ("", "", 2)
    assert "--no-such-flag" in end.reason


def test_a_persons_retry_resumes_it_as_on_one_machine(project: Project) -> None:
    project.settings(agent={"command": "claude"}, limits={"maxAttempts": 1})
    project.agent(faulty(), [{"say": DONE}])
    worker = Worker(project)
    assert worker.shift("run", "-p", PROMPT).outcome == "failed"

    assert worker.shift(continues=False, lost_cost=0.5).outcome == "completed"
    assert kinds(project).count("run_started") == 2
    assert worker.ends[-1].cost == pytest.approx(0.5123, abs=0.02)


def test_a_stop_during_a_shift_ends_the_run_as_on_one_machine(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    started = project.programs / "started"
    project.agent([{"touch": str(started)}, {"sleep": 1}, {"say": "no"}])
    worker = Worker(project)
    worker.order()
    with subprocess.Popen(
        [sys.executable, "-m", "ralph", "run", "-p", PROMPT],
        cwd=project.root,
        env=project.env(**{SHIFT: str(worker.folder)}),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for(started.exists, "the session has begun")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    end = read_end(worker.folder)
    assert end is not None
    assert (end.outcome, end.iteration, end.exit_code) == ("cancelled", 0, 130)


def test_neither_agents_nor_nested_ralphs_see_the_shift(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"run": "env > seen; : > quiet"}, {"say": DONE}])
    project.environment["GITHUB_TOKEN"] = "ours-alone-000000000000"
    assert Worker(project).run("run", "-p", PROMPT).outcome == "completed"
    seen = (project.root / "seen").read_text()
    assert SHIFT not in seen
    assert "GITHUB_TOKEN" not in seen
