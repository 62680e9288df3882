"""A judge that cannot judge: nothing is accepted for it, and only the judging is repeated."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from .conftest import Project
from .task_project import TaskProject

# claude as the judge: it answers in the tag of the question, or plays what judge.sh says.
JUDGE = """
prompt=$(cat)
here={programs}
tag=$(printf '%s\\n' "$prompt" | sed -n 's/^<\\(verdict-[0-9a-f]*\\)>$/\\1/p' | head -n 1)
echo judge >> "$here/launches"
. "$here/judge.sh"
"""
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "", "total_cost_usd": 0.01}


def lines(*records: dict[str, Any], code: int = 0) -> str:
    printed = "".join(f"cat <<EOF\n{json.dumps(record)}\nEOF\n" for record in records)
    return f"{printed}exit {code}\n"


def said(text: str) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "message": {"role": "assistant", "model": "m", "content": content}}


YES = lines(said("<$tag>\nVERIFIED\n1. VERIFIED: seen\n</$tag>"), RESULT)
LIMITED = lines(
    {
        "type": "rate_limit_event",
        "rate_limit_info": {"status": "rejected", "resetsAt": time.time() + 7200},
    },
    {**RESULT, "is_error": True, "result": "You've hit your limit"},
    code=1,
)
LOGGED_OUT = lines(
    {**said("Invalid API key"), "error": "authentication_failed", "api_error_status": 401},
    {**RESULT, "is_error": True, "result": "Invalid API key", "api_error_status": 401},
    code=1,
)


@pytest.fixture
def tasks(project: Project) -> TaskProject:
    made = TaskProject(project)
    made.settings(semanticAgent="claude", others={"limits": {"maxAttempts": 1}})
    project.program("claude", JUDGE.replace("{programs}", f"'{made.programs}'"))
    made.judge(YES)
    made.task(coder={"verification_method": "semantic"})
    return made


def test_a_judge_of_another_program_can_say_yes(tasks: TaskProject) -> None:
    tasks.work(check=0)

    assert tasks.judged() == 1


def test_a_limited_judge_is_waited_for_and_then_only_the_judging_is_repeated(tasks: TaskProject) -> None:
    tasks.judge(LIMITED)

    told = tasks.work("--no-wait", check=5)

    assert "not judged yet: You've hit your limit" in told
    assert tasks.shown()["status"] == "open"
    assert tasks.files() == {"start.txt"}
    assert (tasks.worktree() / "T-1.txt").exists()

    tasks.judge(YES)
    tasks.work(check=0)

    assert tasks.launches() == ["T-1 coder"]
    assert tasks.files() == {"start.txt", "T-1.txt"}


def test_a_judge_that_is_not_logged_in_ends_the_work(tasks: TaskProject) -> None:
    tasks.judge(LOGGED_OUT)

    told = tasks.work(check=1)

    assert "not judged yet: Invalid API key" in told
    assert "Completed" not in told
    assert tasks.shown()["status"] == "open"
    assert tasks.judged() == 1  # asking again cannot help


@pytest.mark.parametrize("judge", ["exit 1\n", "kill -9 $$\n"], ids=["an empty answer", "killed"])
def test_a_judge_that_breaks_off_is_no_proof(tasks: TaskProject, judge: str) -> None:
    tasks.judge(judge)

    told = tasks.work(check=1)

    assert "not judged yet" in told
    assert tasks.shown()["status"] == "open"
    assert tasks.judged() == 2


def test_a_budget_that_is_used_up_before_the_judge_leaves_the_work_unjudged(tasks: TaskProject) -> None:
    promise = said("<promise>IMPLEMENTATION_COMPLETE</promise>")
    coder = lines(promise, {**RESULT, "total_cost_usd": 0.25})
    tasks.judge(
        f'if [ "$RALPH_ROLE" = judge ]; then\n{YES}fi\n'
        f'echo "$RALPH_TASK_ID $RALPH_ROLE" > "$here/launches"\ntouch made\n{coder}'
    )
    tasks.project.settings(agent={"command": "claude"}, profiles={"verified": {"stages": ["coder"]}})

    told = tasks.work("--max-cost", "0.20", check=1)

    assert "budget reached: $0.25 of $0.20" in told
    assert "Verification passed" not in told
    assert tasks.judged() == 0
    assert tasks.shown()["status"] == "open"

    assert "Completed" in tasks.work("--max-cost", "1", check=0)
    assert tasks.launches() == ["T-1 coder"]
    assert tasks.judged() == 1


def test_the_next_agent_of_the_chain_is_asked_if_the_first_answers_nonsense(tasks: TaskProject) -> None:
    tasks.judge("echo VERIFIED, I guess\n")
    second = 'tag=$(sed -n "s/^<\\(verdict-[0-9a-f]*\\)>$/\\1/p" | head -n 1)\n'
    second += f"echo second >> '{tasks.programs}/asked'\n"
    second += 'printf "<%s>\\nVERIFIED\\n1. VERIFIED: seen\\n</%s>\\n" "$tag" "$tag"\n'
    other = tasks.project.program("other", second)
    tasks.project.settings(
        agent={"command": str(tasks.programs / "worker"), "fallbacks": [str(other)]},
        profiles={"verified": {"stages": ["coder"]}},
    )

    tasks.work(check=0)

    assert (tasks.programs / "asked").read_text() == "second\n"
    assert tasks.judged() == 1
