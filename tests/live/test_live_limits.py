"""Usage limits and large prompts."""

from __future__ import annotations

import signal
import time

import pytest

from ralph.testing.model import Step

from .harness import DONE, PROMPT, LiveProject, ended, wait_for

MINUTE = 60
HOUR = 3600


def claude_limit(reset: int) -> Step:
    unified = {
        "status": "rejected",
        "reset": str(reset),
        "representative-claim": "five_hour",
        "5h-status": "rejected",
        "5h-reset": str(reset),
        "5h-utilization": "1",
    }
    return Step(
        error=429, headers={f"anthropic-ratelimit-unified-{name}": value for name, value in unified.items()}
    )


def codex_limit(reset: int) -> Step:
    spent = {"type": "usage_limit_reached", "message": "The usage limit has been reached"}
    return Step(error=429, body={"error": {**spent, "plan_type": "plus", "resets_at": reset}})


NAMES_A_TIME = {"claude": claude_limit, "codex": codex_limit}
"""Agents that say when an account may work again; of the others ralph learns only that it may not now."""


def test_a_used_up_account_is_waited_for(project: LiveProject) -> None:
    begun = int(time.time())
    reset = begun + HOUR
    name = project.agent.name
    with project.model(NAMES_A_TIME[name](reset) if name in NAMES_A_TIME else Step(error=429)) as model:
        project.settings(model.url, subscribed=True)
        with project.running("-p", PROMPT, "--agent-timeout", "60") as process:
            wait_for(lambda: bool(project.events("pause_began")), "the pause", process)
            process.send_signal(signal.SIGINT)
            ended(process, 130)

    (session,) = project.events("agent_ended")
    assert session["fault"]["kind"] == "rate_limited"
    (pause,) = project.events("pause_began")
    assert pause["until"] >= begun + MINUTE
    if name in NAMES_A_TIME:
        assert abs(pause["until"] - reset) <= 2 * MINUTE


def test_claude_says_how_much_is_left_long_before_the_limit(project: LiveProject) -> None:
    """Only claude does; what it says keeps the second session from starting."""
    if project.agent.name != "claude":
        pytest.skip(f"{project.agent.name} does not say how much is left")
    reset = str(int(time.time()) + HOUR)
    unified = {"status": "allowed", "reset": reset, "representative-claim": "five_hour"}
    for window, used in (("5h", "0.4"), ("7d", "0.3")):
        unified |= {f"{window}-status": "allowed", f"{window}-reset": reset, f"{window}-utilization": used}
    headers = {f"anthropic-ratelimit-unified-{name}": value for name, value in unified.items()}
    with project.model(Step(text="not yet", headers=headers)) as model:
        project.settings(model.url, subscribed=True)
        project.ralph("-p", PROMPT, "--keep-free", "5h=65", "--no-wait", check=5)

    (told,) = project.events("quota_seen")
    assert [(each["name"], each["left"]) for each in told["windows"]] == [("5h", 60.0), ("week", 70.0)]
    assert len(project.events("agent_started")) == 1


def test_a_prompt_of_two_megabytes_is_done(project: LiveProject) -> None:
    words = "All work and no play makes a long prompt.\n" * 50_000
    (project.root / "PROMPT.md").write_text(f"{words}The last line names the tag: {DONE}.\n")
    with project.model(Step(text=DONE)) as model:
        project.settings(model.url)
        project.ralph("-f", "PROMPT.md", check=0)
        asked = model.main_requests[0].text

    assert len(project.prompt(1)) > 2_000_000
    assert "The last line names the tag" in asked or "prompt_001.txt" in asked
