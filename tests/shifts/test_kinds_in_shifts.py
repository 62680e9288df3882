"""The other kinds of loop, shift by shift: supervised, verified, reviewed, draft."""

from __future__ import annotations

import pytest

from ralph.domain.fleet.shift import Steer
from tests.acceptance.conftest import Project
from tests.acceptance.conftest import project as project
from tests.acceptance.task_project import TaskProject
from tests.acceptance.test_plan_run import APPROVED, COMMIT, NEEDED, RUN, PlanRun

from .shifting import Worker, assert_same, kinds, prompts, twin


def test_a_supervised_run_is_the_same_in_shifts(project: Project) -> None:
    body = '[ "$RALPH_ATTEMPT" = 2 ] && : > "$TASK_FOLDER/DONE"; echo "$RALPH_ATTEMPT" >> seen; exit "$RALPH_ATTEMPT"\n'
    project.program("agent.sh", body)
    other = twin(project)

    def words(of: Project) -> list[str]:
        return ["supervise", "--task", "t", "--restart-delay", "0", "--", str(of.programs / "agent.sh")]

    project.ralph(*words(project), check=0)
    worker = Worker(other)
    end = worker.run(*words(other))

    assert_same(project, other)
    assert (other.root / "seen").read_text() == (project.root / "seen").read_text() == "0\n1\n2\n"
    assert (end.outcome, end.iteration) == ("completed", 3)


def test_a_supervised_run_waits_elsewhere(project: Project) -> None:
    project.program("agent.sh", ': >> n; [ "$(cat n)" ] && : > "$TASK_FOLDER/DONE"; echo 1 > n; exit 1\n')
    worker = Worker(project)
    words = ["supervise", "--task", "t", "--restart-delay", "30", "--", str(project.programs / "agent.sh")]

    first = worker.shift(*words)
    assert (first.want, first.seconds) == ("wait", 30.0)
    end = worker.run()
    assert end.outcome == "completed"
    assert end.run_seconds >= 30


def test_a_plan_is_the_same_in_shifts(project: Project) -> None:
    plan = PlanRun(project)
    plan.write()
    other = twin(project)
    for each in (project, other):
        of = PlanRun(each)
        of.plays(
            "true",
            f"{of.marks(NEEDED)}; {COMMIT}",
            f"{of.marks({'reviewStatus': 'changes_requested', 'reviewFeedback': 'name it better'})}; {COMMIT}",
            f"{of.marks(NEEDED)}; {COMMIT}",
            f"{of.marks(APPROVED)}; {COMMIT}",
        )

    ran = project.ralph(*RUN)
    worker = Worker(other)
    end = worker.run(*RUN)

    assert_same(project, other)
    assert end.exit_code == ran.returncode
    assert len(worker.ends) > 3


WORK = ("work", "T-1", "--max-parallel", "1")
COMMITS = "git add -A; git commit -qm work"


def task_project(project: Project, coder: str = "echo right > T-1.txt", **others: object) -> None:
    made = TaskProject(project)
    made.settings(stages=["coder", "reviewer"], others=others)
    made.role("coder", f"{coder}; {COMMITS}")
    made.task()


def test_a_task_is_the_same_in_shifts_and_merged_when_its_turn_has_come(project: Project) -> None:
    task_project(project)
    other = twin(project)

    project.ralph(*WORK, check=0)
    worker = Worker(other)
    before = other.git("rev-parse", "main")
    first = worker.run(*WORK, until=lambda end: end.want != "session")
    assert first.want == "merge"
    assert other.git("rev-parse", "main") == before
    again = worker.shift(may_merge=False)
    assert (again.want, again.iteration) == ("merge", first.iteration)
    end = worker.shift()

    assert (end.outcome, end.exit_code) == ("completed", 0)
    assert other.git("rev-parse", "main").strip() == end.merged
    assert other.git("rev-parse", "main^1") == before
    assert end.iteration == 2
    assert_same(project, other)


def test_a_task_without_a_change_is_in_its_base(project: Project) -> None:
    task_project(project, coder="true")
    worker = Worker(project)
    end = worker.run(*WORK)
    assert end.outcome == "completed"
    assert worker.ends[-2].want == "merge"
    assert end.merged == project.git("rev-parse", "main").strip()


def test_a_merge_that_is_sent_back_leaves_the_session_to_the_next_shift(project: Project) -> None:
    """What was merged meanwhile conflicts: the work is merged with it by a session, and then it waits for its turn again."""
    coder = "git merge --abort 2>/dev/null; git merge -q -X ours main 2>/dev/null; echo right > T-1.txt"
    task_project(project, coder=coder)
    worker = Worker(project)
    worker.run(*WORK, until=lambda end: end.want == "merge")
    (project.root / "T-1.txt").write_text("of another task\n")
    project.git("add", "T-1.txt")
    project.git("commit", "-qm", "another task")
    theirs = project.git("rev-parse", "main")

    back = worker.shift()

    assert (back.want, back.merged, back.iteration) == ("session", "", worker.ends[-2].iteration)
    assert project.git("rev-parse", "main") == theirs
    end = worker.run()
    assert end.outcome == "completed"
    assert [one.want for one in worker.ends[-3:-1]] == ["session", "merge"]
    assert project.git("rev-parse", "main").strip() == end.merged


def test_a_task_that_is_rejected_denied_and_steered_counts_on(project: Project) -> None:
    coder = 'if [ "$number" -ge 2 ]; then echo right > T-1.txt; else echo wrong > T-1.txt; fi'
    task_project(project, coder, guardrails=["grep -q right T-1.txt"])
    other = twin(project)

    project.ralph(*WORK, check=0)
    end = Worker(other).run(*WORK)

    assert end.outcome == "completed"
    assert_same(project, other)
    assert end.iteration == 3


def test_a_note_reaches_the_session_of_a_task_and_what_was_lost_is_counted_once(project: Project) -> None:
    task_project(project)
    worker = Worker(project)
    first = worker.shift(*WORK, notes=(Steer(number=4, text="mind the gap"),), lost_cost=0.25)
    assert first.heard == 4
    assert first.cost == pytest.approx(0.25)
    second = worker.shift(lost_cost=0.5)
    assert second.cost == pytest.approx(0.75)
    assert second.heard == 0
    rows = project.rows("SELECT json_extract(state, '$.spend.cost_usd') FROM runs")
    assert [cost for (cost,) in rows] == [pytest.approx(0.75)] * 2
    assert [text.count("mind the gap") for name, text in prompts(project) if "verify" not in name] == [1, 0]
    assert kinds(project).count("run_started") == 2, "one of the whole, one of the task"
