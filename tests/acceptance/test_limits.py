"""Budgets, faults and stand-ins, through the command line."""

from __future__ import annotations

import json
import time

import pytest

from .conftest import DONE, PROMPT, Project

RESULT = {"type": "result", "subtype": "success", "is_error": True, "result": "You've hit your limit"}


def limited(until: float) -> list[dict[str, object]]:
    info = {"status": "rejected", "resetsAt": until, "rateLimitType": "five_hour"}
    event = {"type": "rate_limit_event", "rate_limit_info": info}
    return [{"print": json.dumps(event)}, {"print": json.dumps(RESULT)}, {"exit": 1}]


def test_a_budget_of_money_ends_the_run_before_the_next_launch_and_survives_a_resume(
    project: Project,
) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "no"}])
    ran = project.ralph("run", "-p", PROMPT, "--max-cost", "0.03", check=1)
    assert "budget reached: $0.04 of $0.03" in ran.stderr
    assert project.rows("SELECT count(*) FROM iterations") == [(3,)]
    again = project.ralph("resume", "last", check=1)
    assert "budget reached" in again.stderr
    assert project.rows("SELECT count(*) FROM iterations") == [(3,)]


def test_tokens_are_watched_while_the_session_runs(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    message = {
        "id": "m1",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "working"}],
        "usage": {"input_tokens": 90_000, "output_tokens": 20_000},
    }
    line = json.dumps({"type": "assistant", "message": message, "parent_tool_use_id": None})
    project.agent([{"print": line}, {"sleep": 60}, {"say": DONE}])
    ran = project.ralph("run", "-p", PROMPT, "--max-tokens", "100000", check=1)
    assert "budget reached" in ran.stderr
    assert "tokens" in ran.stderr


def test_time_is_a_budget_too(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"sleep": 0.3}, {"say": "no"}])
    ran = project.ralph("run", "-p", PROMPT, "--max-time", "0.2", check=1)
    assert "time is over" in ran.stderr


def test_a_network_that_is_away_is_waited_for_as_long_as_the_settings_say(project: Project) -> None:
    away = {"type": "result", "is_error": True, "result": "API Error: Unable to connect to API (ENOTFOUND)"}
    project.settings(agent={"command": "claude"}, limits={"waitForNetwork": 0.1, "maxAttempts": 1})
    project.agent([{"print": json.dumps(away)}, {"exit": 1}])
    ran = project.ralph("run", "-p", PROMPT, check=4)
    assert "Waiting 0.1s" in ran.stderr
    assert (
        "no network, or the address is wrong (API Error: Unable to connect to API (ENOTFOUND))" in ran.stderr
    )
    assert "limits.waitForNetwork says how long" in ran.stderr
    project.agent([{"say": DONE}])
    project.ralph("resume", "last", check=0)


def test_a_limited_agent_is_stood_in_for(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent(limited(time.time() + 3600))
    project.agent([{"say": DONE}], name="codex")
    ran = project.ralph("run", "-p", PROMPT, "--agent", "claude,codex", check=0)
    assert "going on with codex" in ran.stderr


def test_a_share_of_the_subscription_is_kept_free(project: Project) -> None:
    """The session that hears of it counts; what it heard holds for the next session, run and agent of the chain."""
    reset = time.time() + 3600
    windows = {
        "five_hour": {"utilization": 0.9, "resetsAt": reset},
        "seven_day": {"utilization": 0.3, "resetsAt": reset},
    }
    told = {"type": "rate_limit_event", "rate_limit_info": {"status": "allowed", "unifiedWindows": windows}}
    project.settings(agent={"command": "claude"}, limits={"keepFree": {"5h": 15}})
    project.agent([{"print": json.dumps(told)}, {"say": "not yet"}])
    ran = project.ralph("run", "-p", PROMPT, "--no-wait", check=5)
    assert "keeps 15 % of 5 hours free; how much is left is not known yet" in ran.stderr
    assert "claude has 10 % of 5 hours left, and 15 % must stay free" in ran.stderr
    sessions = "SELECT count(*) FROM events WHERE kind = 'agent_started'"
    judged = "SELECT count(*) FROM iterations WHERE decision = 'continue'"
    assert (project.rows(sessions), project.rows(judged)) == ([(1,)], [(1,)])
    project.ralph("resume", check=5)  # with the same flags: nothing more is spent
    assert project.rows(sessions) == [(1,)]
    status = json.loads(project.ralph("status", "--json", check=0).stdout)
    (quota,) = status["runs"][0]["quota"]
    assert quota["agent"] == "claude"
    assert [(each["name"], each["left"]) for each in quota["windows"]] == [("5h", 10.0), ("week", 70.0)]

    project.agent([{"say": DONE}], name="codex")
    ran = project.ralph("run", "-p", PROMPT, "--agent", "claude,codex", check=0)
    assert "claude: 10 % of 5 hours and 70 % of the week left" in ran.stderr
    assert "codex does not say how much is left" in ran.stderr
    assert "going on with codex" in ran.stderr
    project.ralph("supervise", "--task", "t", "-p", PROMPT, "--no-sandbox", "--no-wait", check=5)
    assert project.rows(sessions) == [(2,)]


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ("5h", "5h=15,week=25"),
        ("5h=100", "below 100"),
        ("weke=5", 'did you mean "week"?'),
        ("5h=x", 'found "x"'),
    ],
)
def test_a_share_that_makes_no_sense_is_told(project: Project, given: str, word: str) -> None:
    assert word in project.ralph("run", "-p", PROMPT, "--keep-free", given, check=2).stderr


def test_a_loop_that_changes_nothing_is_warned_and_then_ended(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    project.settings(agent={"command": "claude"}, limits={"stuckAfter": 3}, maximumIterations=50)
    project.agent([{"say": "thinking"}])
    ran = project.ralph("run", "-p", PROMPT, check=1)
    assert "stuck: 3 iterations in a row changed nothing" in ran.stderr
    assert "The last 2 sessions changed nothing. If the work is done" in project.prompt(3)


def test_work_that_passes_is_never_told_to_try_something_else(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "test -f made"}])
    project.agent([{"touch": "made"}, {"say": "Fixed."}], [{"say": "All is well."}])
    ran = project.ralph("run", "-p", PROMPT, check=1)
    assert "every check passes, but the agent never said that it is done, and 3 iterations" in ran.stderr
    assert "if they are what you wanted, the work is done" in ran.stderr
    assert "Try something else" not in project.prompt(4)


def test_commits_count_as_progress(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    project.settings(agent={"command": "claude"}, limits={"stuckAfter": 2})
    project.agent([{"run": "git commit -q --allow-empty -m more"}, {"say": "no"}])
    ran = project.ralph("run", "-p", PROMPT, "-m", "5", check=1)
    assert "maximum iterations reached" in ran.stderr


def test_failing_in_the_same_words_is_standing_still(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        guardrails=[{"command": "echo same; false"}],
        limits={"stuckAfter": 3},
        maximumIterations=50,
    )
    project.agent([{"say": DONE}])
    ran = project.ralph("run", "-p", PROMPT, check=1)
    assert "failed in the same way" in ran.stderr


def test_a_session_that_was_permitted_nothing_is_told_as_such(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    denied = {**RESULT, "is_error": False, "result": "", "permission_denials": [{"tool_name": "Bash"}]}
    project.program(
        "claude",
        "cat >/dev/null\n"
        'echo \'{"type":"system","subtype":"init","session_id":"s"}\'\n'
        'echo \'{"type":"assistant","message":{"content":[{"type":"text","text":"I may not."}]}}\'\n'
        f"echo '{json.dumps(denied)}'\n",
    )
    ran = project.ralph("run", "-p", PROMPT, "-m", "2", check=1)
    assert "not permitted to use Bash" in ran.stderr
    assert "not permitted to use Bash" in project.prompt(2)


@pytest.mark.parametrize(
    "prices", [{"gpt": {"input": 1}}, {"gpt": {"input": 1, "output": -2}}, {"gpt": {"inptu": 1}}]
)
def test_wrong_prices_are_told(project: Project, prices: dict[str, object]) -> None:
    project.settings(agent={"command": "claude"}, prices=prices)
    project.agent([{"say": DONE}])
    assert "prices.gpt" in project.ralph("run", "-p", PROMPT, check=2).stderr


def test_work_in_a_subfolder_of_a_repository_is_progress(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    below = project.root / "sub"
    (below / ".ralph").mkdir(parents=True)
    (below / "file").write_text("0\n")
    settings = {"agent": {"command": "claude"}, "limits": {"stuckAfter": 2}, "maximumIterations": 5}
    (below / ".ralph" / "settings.json").write_text(json.dumps(settings))
    project.git("add", ".")
    project.git("commit", "-q", "-m", "start")
    project.agent([{"run": "echo more >> file"}, {"say": "no"}])
    ran = project.ralph("run", "-p", PROMPT, check=1, cwd=below)
    assert "maximum iterations reached (5)" in ran.stderr


def test_waiting_does_not_outlast_the_time_of_the_run(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent(limited(time.time() + 3600))
    ran = project.ralph("run", "-p", PROMPT, "--max-time", "1", check=1)
    assert "time is over" in ran.stderr


def test_a_stand_in_works_where_the_first_agent_is_missing(project: Project) -> None:
    project.agent([{"say": DONE}], name="codex")
    project.ralph("run", "-p", PROMPT, "--agent", "no-such-agent,codex", check=0)


# --- what is no fault of the agent -------------------------------------------------------------------------

USED = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "make"}}
WORKED = {"type": "assistant", "message": {"model": "m", "content": [USED]}}
FULL = {
    **RESULT,
    "result": "Prompt is too long",
    "terminal_reason": "prompt_too_long",
    "api_error_status": 400,
}
TURNS = {**RESULT, "subtype": "error_max_turns", "result": None}


@pytest.mark.parametrize(
    ("end", "reason"), [(FULL, "its context was full"), (TURNS, "it reached its limit of turns")]
)
def test_a_session_that_came_to_an_end_of_its_own_is_judged_and_the_next_one_told(
    project: Project, end: dict[str, object], reason: str
) -> None:
    project.settings(agent={"command": "claude"}, guardrails=["touch checked"])
    cut: list[dict[str, object]] = [{"print": json.dumps(WORKED)}, {"print": json.dumps(end)}, {"exit": 1}]
    project.agent(cut, [{"say": DONE}])

    ran = project.ralph("run", "-p", PROMPT, "-m", "2", check=0)

    assert f"the session was cut short ({reason}): what it said does not count" in ran.stderr
    assert (project.root / "checked").exists()
    assert f"The previous session was cut short: {reason}." in project.prompt(2)
    assert project.rows("SELECT iteration, attempt FROM iterations") == [(1, 1), (2, 1)]


def test_work_that_is_cut_off_with_its_session_is_told_to_everyone(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    tasks = {
        "type": "system",
        "subtype": "background_tasks_changed",
        "tasks": [{"description": "the long build"}],
    }
    end = {**RESULT, "is_error": False, "result": "I wait for it."}
    left = [{"print": json.dumps(tasks)}, {"print": json.dumps(end)}]
    project.agent(left, [{"say": DONE}])

    ran = project.ralph("run", "-p", PROMPT, "-m", "2", check=0)

    assert "background work was cut off when the session ended: the long build" in ran.stderr
    assert "waiting for background work: the long build" in ran.stdout
    assert "cut off: the long build" in project.prompt(2)
