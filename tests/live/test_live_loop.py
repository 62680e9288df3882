"""A whole loop with a real agent: work, a red guardrail, a lie, a completion."""

from __future__ import annotations

from ralph.testing.model import Step

from .harness import DONE, PROMPT, LiveProject

GUARDRAIL = 'test "$(cat answer.txt)" = right || { echo "the answer is not right"; exit 1; }'


def test_work_a_lie_and_a_completion(project: LiveProject) -> None:
    with project.model(
        Step(shell="echo wrong > answer.txt", text="I begin."),
        Step(text="I will go on tomorrow."),
        Step(text=f"All done. {DONE}"),
        Step(shell="echo right > answer.txt"),
        Step(text=f"Now it is. {DONE}"),
    ) as model:
        project.settings(model.url, guardrails=[{"command": GUARDRAIL}])
        err = project.ralph("-p", PROMPT, "-m", "6", check=0)

        assert (project.root / "answer.txt").read_text() == "right\n"
        assert project.rows("SELECT iteration, attempt, decision, claimed, proven FROM iterations") == [
            (1, 1, "continue", 0, 0),
            (2, 1, "continue", 1, 0),
            (3, 1, "accept", 1, 1),
        ], err
        assert "the answer is not right" in project.prompt(2)
        asked = model.main_requests

    assert PROMPT in asked[0].text
    assert "the answer is not right" not in asked[0].text
    assert "the answer is not right" in asked[2].text
    sessions = project.events("agent_ended")
    assert [session["fault"] for session in sessions] == [None] * 3
    assert [session["unknown_events"] for session in sessions] == [0] * 3
    assert [session["tools"] for session in sessions] == [1, 0, 1]
    assert all(session["spend"]["usage"]["output_tokens"] for session in sessions)
    project.assert_nothing_left()
