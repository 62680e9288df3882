"""``/ralph:loop``, Stop and ``/ralph:cancel`` on the state file that ``ralph`` itself knows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ralph import is_ralph_loop_active, read_ralph_loop_state

from .hook_events import SESSION, asked, context_of

OTHER = "0000aaaa-other"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def prompt(project: Path, text: str, **more: Any) -> dict[str, Any] | None:
    return asked("prompt", project, hook_event_name="UserPromptSubmit", prompt=text, **more)


def stop(project: Path, said: str | None = "Not yet.", **more: Any) -> dict[str, Any] | None:
    spoken: dict[str, Any] = {} if said is None else {"last_assistant_message": said}
    return asked("stop", project, hook_event_name="Stop", **spoken, **more)


def state_file(project: Path) -> Path:
    return project / ".ralph" / "state" / "ralph-loop.json"


def test_a_loop_goes_on_until_its_promise(project: Path) -> None:
    opening = context_of(prompt(project, "/ralph:loop Build it --max-iterations 5"))
    assert "Ralph loop, iteration 1/5." in opening
    state = read_ralph_loop_state(root=project)
    assert state is not None
    assert (state.prompt, state.max_iterations, state.extra["sessionId"]) == ("Build it", 5, SESSION)
    for iteration in (2, 3):
        answer = stop(project)
        assert answer is not None
        assert answer["decision"] == "block"
        assert f"Ralph loop, iteration {iteration}/5" in answer["reason"]
        assert answer["reason"].endswith("Build it")
    answer = stop(project, "All is well. <promise>DONE</promise>")
    assert answer == {"systemMessage": "ralph loop: complete after 3 iterations (DONE)."}
    assert not is_ralph_loop_active(root=project)
    assert stop(project) is None


def test_a_loop_ends_with_its_last_iteration(project: Path) -> None:
    prompt(project, "/ralph:loop --max-iterations 1 Build it")
    answer = stop(project)
    assert answer is not None
    assert "ended after 1 iteration without" in answer["systemMessage"]
    assert not state_file(project).exists()


def test_a_custom_promise_is_asked_for_and_nothing_else_ends_the_loop(project: Path) -> None:
    assert "<promise>ALL GREEN</promise>" in context_of(
        prompt(project, '/ralph:loop --completion-promise "ALL GREEN" Build it')
    )
    assert (stop(project, "<promise>DONE</promise>") or {}).get("decision") == "block"
    assert "decision" not in (stop(project, "<promise>all green</promise>") or {})


def test_concurrent_sessions_do_not_catch_each_other(project: Path) -> None:
    prompt(project, "/ralph:loop Build it")
    assert stop(project, session=OTHER) is None
    refused = prompt(project, "/ralph:loop Build something else", session=OTHER)
    assert refused is not None
    assert refused["decision"] == "block"
    assert "another session has a loop here" in refused["reason"]
    state = read_ralph_loop_state(root=project)
    assert state is not None
    assert state.prompt == "Build it"


def test_a_run_of_ralph_is_left_alone(project: Path) -> None:
    state_file(project).parent.mkdir(parents=True)
    of_a_run = {
        "active": True, "iteration": 4, "maxIterations": 0, "completionPromise": "DONE", "startedAt": "", "prompt": "x",
    }  # fmt: skip
    state_file(project).write_text(json.dumps(of_a_run))
    assert stop(project) is None
    for text in ("/ralph:loop Build it", "/ralph:cancel"):
        refused = prompt(project, text)
        assert refused is not None
        assert "`ralph stop`" in refused["reason"]
    assert json.loads(state_file(project).read_text()) == of_a_run


@pytest.mark.parametrize("session", [SESSION, OTHER])
def test_cancel_ends_the_loop_without_asking_the_model(project: Path, session: str) -> None:
    """Also from another session: the one that began it may be gone."""
    prompt(project, "/ralph:loop Build it --max-iterations 9")
    stop(project)
    answer = prompt(project, "/ralph:cancel", session=session)
    assert answer == {"decision": "block", "reason": "ralph loop: cancelled at iteration 2 of 9."}
    assert stop(project) is None
    again = prompt(project, "/ralph:cancel")
    assert again == {"decision": "block", "reason": "ralph loop: there is none here."}


def test_a_request_that_makes_no_sense_is_not_sent(project: Path) -> None:
    answer = prompt(project, "/ralph:loop --max-iterations none Build it")
    assert answer is not None
    assert answer["decision"] == "block"
    assert not state_file(project).exists()


@pytest.mark.parametrize("text", ["Hello", "", "/ralph:ralph-plan x", "what does /ralph:loop do?"])
def test_other_prompts_are_none_of_its_business(project: Path, text: str) -> None:
    assert prompt(project, text) is None
    assert not (project / ".ralph").exists()


def test_ones_own_loop_is_begun_anew(project: Path) -> None:
    prompt(project, "/ralph:loop Build it")
    stop(project)
    assert "Ralph loop, iteration 1/100." in context_of(prompt(project, "/ralph:loop Build another"))


def test_what_is_not_known_in_the_state_survives(project: Path) -> None:
    prompt(project, "/ralph:loop Build it")
    document = json.loads(state_file(project).read_text()) | {"note": [1, 2]}
    state_file(project).write_text(json.dumps(document))
    stop(project)
    assert json.loads(state_file(project).read_text()) == document | {"iteration": 2}


@pytest.mark.parametrize("content", ["", "{", "[]", '{"active": true}', "\x00"])
def test_a_damaged_state_keeps_nobody_and_is_left_alone(project: Path, content: str) -> None:
    state_file(project).parent.mkdir(parents=True)
    state_file(project).write_text(content)
    assert stop(project) is None
    assert state_file(project).read_text() == content


def test_the_loop_is_the_projects_wherever_the_session_is(project: Path) -> None:
    (project / ".git").mkdir()
    (project / ".git" / "HEAD").touch()
    below = project / "src"
    below.mkdir()
    prompt(below, "/ralph:loop Build it")
    assert state_file(project).exists()
    assert (stop(project) or {}).get("decision") == "block"
    assert (project / ".ralph" / ".gitignore").exists()


def test_a_session_that_only_talks_rests_before_its_answer_is_lost(project: Path) -> None:
    prompt(project, "/ralph:loop Build it")
    answers = [stop(project, stop_hook_active=turn > 0) or {} for turn in range(9)]
    assert [answer.get("decision") for answer in answers] == ["block"] * 8 + [None]
    assert "paused at 9/100" in answers[-1]["systemMessage"]
    assert (stop(project, stop_hook_active=False) or {}).get("decision") == "block"


def test_an_older_claude_codes_last_words_are_in_the_transcript(project: Path) -> None:
    def line(kind: str, text: str, **more: Any) -> str:
        return (
            json.dumps({"type": kind, "message": {"content": [{"type": "text", "text": text}]}, **more})
            + "\n"
        )

    prompt(project, "/ralph:loop Build it")
    transcript = project / "t.jsonl"
    transcript.write_text(
        line("assistant", "Not yet.")
        + line("user", "<promise>DONE</promise>")
        + line("assistant", "<promise>DONE</promise>", isSidechain=True)
    )
    assert (stop(project, None, transcript_path=str(transcript)) or {}).get("decision") == "block"
    transcript.write_text(transcript.read_text() + line("assistant", "<promise>DONE</promise>"))
    assert "decision" not in (stop(project, None, transcript_path=str(transcript)) or {})
