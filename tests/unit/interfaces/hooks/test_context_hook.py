"""The context monitor: exact usage from the transcript's end, else its size; each threshold once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .hook_events import SESSION, asked, context_of

SMALL_MODEL = "claude-sonnet-4-5"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def answer(tokens: int, model: str = SMALL_MODEL) -> str:
    usage = {"input_tokens": tokens - 1, "output_tokens": 1}
    return json.dumps({"type": "assistant", "message": {"model": model, "usage": usage}}) + "\n"


def watch(project: Path, transcript: Path, **more: Any) -> str:
    return context_of(
        asked("context", project, hook_event_name="PostToolUse", transcript_path=str(transcript), **more)
    )


def test_each_threshold_is_told_once_and_the_highest_says_it_all(project: Path) -> None:
    transcript = project / "t.jsonl"
    alerts = []
    for tokens in (99_000, 101_000, 103_000, 121_000, 122_000, 165_000, 190_000, 199_000):
        transcript.write_text(answer(tokens))
        alerts.append(watch(project, transcript).split("%")[0])
    assert alerts == ["", "[NOTICE] Context usage: 50", "", "[NOTICE] Context usage: 60", "",
                    "[WARNING] Context usage: 82", "[CRITICAL] Context usage: 95", ""]  # fmt: skip


def test_without_usage_the_size_is_the_measure(project: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text('{"type":"user"}\n' + "x" * 560_000)
    assert watch(project, transcript).startswith(
        "[WARNING] Context usage: about 70% (about 140,004 of 200,000"
    )


def test_window_and_divisor_are_the_users_to_choose(project: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text("x" * 400_000)
    assert watch(project, transcript, environ={"CLAUDE_CONTEXT_DIVISOR": "6"}) == ""
    assert "of 130,000 tokens" in watch(project, transcript, environ={"CLAUDE_CONTEXT_WINDOW": "130000"})


@pytest.mark.parametrize("value", ["", "0", "-5", "many", "nan", "inf", "1e400"])
def test_a_window_or_divisor_that_makes_no_sense_is_not_used(project: Path, value: str) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text("x" * 440_000)
    environ = {"CLAUDE_CONTEXT_WINDOW": value, "CLAUDE_CONTEXT_DIVISOR": value}
    assert "about 55% (about 110,000 of 200,000 tokens)" in watch(project, transcript, environ=environ)


def test_a_large_window_is_known_from_the_model(project: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text(answer(199_000, "claude-opus-5-5"))
    assert watch(project, transcript) == ""


def test_usage_is_found_behind_lines_of_any_length(project: Path) -> None:
    transcript = project / "t.jsonl"
    long = json.dumps({"type": "user", "message": {"content": "y" * 1_000_000}}) + "\n"
    transcript.write_text("x" * 300_000 + "\n" + answer(150_000) + long + long)
    assert "75% (150,000 of 200,000 tokens)" in watch(project, transcript)


def test_usage_that_is_too_far_up_is_not_looked_for(project: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text(answer(150_000) + "z" * 20_000_000)
    assert "[CRITICAL] Context usage: about 100% (about 5,000,030 of" in watch(project, transcript)


def test_compaction_makes_room_and_arms_the_thresholds_anew(project: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text(answer(150_000))
    assert watch(project, transcript)
    transcript.write_text(answer(150_000) + '{"type":"system","subtype":"compact_boundary"}\n')
    assert asked("session", project, hook_event_name="SessionStart", source="compact") is None
    assert watch(project, transcript) == ""
    transcript.write_text(
        answer(150_000) + '{"type":"system","subtype":"compact_boundary"}\n' + answer(110_000)
    )
    assert "[NOTICE] Context usage: 55%" in watch(project, transcript)


def test_sessions_are_told_apart(project: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text(answer(110_000))
    assert watch(project, transcript)
    assert watch(project, transcript, session="another")
    assert watch(project, transcript, session="another") == ""


def test_the_note_is_in_its_usual_place_or_where_the_user_says(project: Path, tmp_path: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text(answer(110_000))
    watch(project, transcript)
    assert (tmp_path / f"claude-context-alerts-{SESSION}").read_text() == "50\n"
    elsewhere = {"CLAUDE_CONTEXT_STATE_FILE": str(tmp_path / "notes-{session}.txt")}
    assert watch(project, transcript, environ=elsewhere)
    assert (tmp_path / f"notes-{SESSION}.txt").read_text() == "50\n"


def test_a_failed_tool_is_answered_under_its_own_event(project: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text(answer(110_000))
    found = asked("context", project, hook_event_name="PostToolUseFailure", transcript_path=str(transcript))
    assert found is not None
    assert found["hookSpecificOutput"]["hookEventName"] == "PostToolUseFailure"


@pytest.mark.parametrize("session", ["../../etc/x", "", "a/b", "a" * 200, "é"])
def test_a_strange_session_has_no_note_and_no_alert(project: Path, session: str) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text(answer(190_000))
    assert watch(project, transcript, session=session) == ""


@pytest.mark.parametrize("path", ["", "/nonexistent/t.jsonl", "/dev/zero", "/", "a\0b"])
def test_a_transcript_that_cannot_be_read_is_no_trouble(project: Path, path: str) -> None:
    assert asked("context", project, transcript_path=path) is None


def test_a_link_in_the_temporary_folder_is_not_followed(project: Path, tmp_path: Path) -> None:
    transcript = project / "t.jsonl"
    transcript.write_text(answer(190_000))
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f"claude-context-alerts-{SESSION}").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        watch(project, transcript)
    assert victim.read_text() == "precious"
