"""An agent whose stream has changed since ralph was written: the run says so instead of looping in vain."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from .conftest import DONE, PROMPT, Project

STREAMS = Path(__file__).parents[1] / "data" / "streams"

MESSAGES = {
    "codex": '"agent_message"',
    "gemini": '"type":"message"',
    "opencode": '"type":"text"',
    "copilot": '"assistant.message"',
}
"""What the event with the assistant's words is called."""


def good_stream(agent: str) -> str:
    folder = STREAMS / agent
    case = json.loads((folder / "cases.json").read_text())["good"]
    return (folder / f"{case}.ndjson").read_text().replace("<promise>DONE</promise>", DONE)


def install(project: Project, agent: str, stream: str, code: int = 0) -> None:
    """An agent on PATH that notes its launch, and prints this."""
    file = project.programs / f"{agent}.ndjson"
    file.write_text(stream)
    project.program(
        agent, f"cat >/dev/null\necho launched >>launches\ncat {shlex.quote(str(file))}\nexit {code}\n"
    )


def launches(project: Project) -> int:
    return len((project.root / "launches").read_text().splitlines())


def warnings(project: Project) -> list[str]:
    rows = project.rows("SELECT data FROM events WHERE kind = 'warned' ORDER BY seq")
    told = [json.loads(data)["message"] for (data,) in rows]
    return [message for message in told if "does not know" in message]


def run(project: Project, agent: str, check: int, *more: str) -> str:
    return project.ralph("run", "-p", PROMPT, "--agent", agent, "-m", "3", *more, check=check).stderr


@pytest.mark.parametrize("agent", [*MESSAGES, "qwen", "claude"])
def test_a_recorded_session_is_understood_without_a_warning(project: Project, agent: str) -> None:
    install(project, agent, good_stream(agent))

    run(project, agent, 0)

    assert launches(project) == 1
    assert not warnings(project)


@pytest.mark.parametrize("agent", MESSAGES)
def test_a_run_ends_when_the_words_come_in_an_event_that_nobody_knows(project: Project, agent: str) -> None:
    renamed = MESSAGES[agent].replace(agent_word(agent), "utterance")
    install(project, agent, good_stream(agent).replace(MESSAGES[agent], renamed))

    told = run(project, agent, 4)

    assert launches(project) == 1
    assert f"{agent} said no word that ralph understood" in told
    assert f"{agent} may speak a newer dialect than ralph knows" in told
    assert f"ralph doctor --probe {agent}" in told
    assert len(warnings(project)) == 1


def agent_word(agent: str) -> str:
    return MESSAGES[agent].strip('"').rpartition('"')[2].rpartition(".")[2]


@pytest.mark.parametrize("agent", ["qwen", "claude"])
def test_words_that_come_at_the_end_of_the_turn_are_enough(project: Project, agent: str) -> None:
    install(project, agent, good_stream(agent).replace('"type":"assistant"', '"type":"utterance"'))

    run(project, agent, 0)

    (warning,) = warnings(project)
    assert warning.startswith(f"{agent} ")
    assert "an event that ralph does not know (utterance)" in warning


@pytest.mark.parametrize(("agent", "code"), [("codex", 0), ("codex", 1), ("gemini", 0), ("claude", 0)])
def test_a_stream_in_another_dialect_ends_the_run_at_once(project: Project, agent: str, code: int) -> None:
    lines = [{"event": "said", "content": f"All done. {DONE}"}, {"event": "over"}, {"event": "bye"}]
    install(project, agent, "".join(f"{json.dumps(line)}\n" for line in lines), code)

    told = run(project, agent, 4)

    assert launches(project) == 1
    assert f"{agent} printed 3 lines, and ralph understood none of them" in told


def test_the_reason_names_the_version_that_the_files_tell(project: Project) -> None:
    as_package(project, "codex", "@openai/codex", "0.170.1")
    install(project, "codex", good_stream("codex").replace('"agent_message"', '"utterance"'))

    told = run(project, "codex", 4)

    assert "agent codex 0.170.1" in told
    assert "codex 0.170.1 may speak a newer dialect" in told
    ended = shown(project)["run"]
    assert "codex 0.170.1 may speak" in ended["reason"]
    assert ended["versions"] == {"codex": "0.170.1"}


def test_the_version_is_in_the_head_and_on_record(project: Project) -> None:
    as_package(project, "codex", "@openai/codex", "0.166.0")
    install(project, "codex", good_stream("codex"))

    assert "agent codex 0.166.0" in run(project, "codex", 0)

    view = shown(project)
    assert view["run"]["agent"] == "codex"
    assert view["run"]["versions"] == {"codex": "0.166.0"}
    assert [(each["agent"], each["version"]) for each in view["iterations"]] == [("codex", "0.166.0")]
    assert "agent codex 0.166.0" in project.ralph("show", check=0).stdout
    assert "agent codex 0.166.0" in project.ralph("report", "--format", "md", check=0).stdout


def test_what_the_stream_says_of_the_version_counts_more(project: Project) -> None:
    as_package(project, "claude", "@anthropic-ai/claude-code", "2.1.1")
    install(project, "claude", good_stream("claude"))

    assert "agent claude 2.1.1" in run(project, "claude", 0)

    assert shown(project)["run"]["versions"] == {"claude": "2.1.325"}


def test_another_package_does_not_tell_the_version(project: Project) -> None:
    as_package(project, "codex", "my-wrapper", "9.9.9")
    install(project, "codex", good_stream("codex"))

    assert "9.9.9" not in run(project, "codex", 0)


def test_an_unknown_event_is_warned_of_once_in_a_run(project: Project) -> None:
    strange = '{"type":"thread.forked","thread_id":"t"}\n' * 3
    stream = good_stream("codex").replace(DONE, "not yet")
    install(project, "codex", strange + stream)

    told = run(project, "codex", 1)

    assert launches(project) == 3
    assert told.count("an event that ralph does not know (thread.forked)") == 1
    assert len(warnings(project)) == 1

    project.ralph("resume", "-m", "4", check=1)

    assert launches(project) == 4
    assert len(warnings(project)) == 1


@pytest.mark.parametrize("strange", ["Execution error", '{"event":"bye"}'])
@pytest.mark.parametrize("agent", ["claude", "codex"])
def test_one_broken_session_among_others_is_tried_again(project: Project, agent: str, strange: str) -> None:
    file = project.programs / f"{agent}.ndjson"
    file.write_text(good_stream(agent))
    (project.programs / "not_yet.ndjson").write_text(good_stream(agent).replace(DONE, "not yet"))
    project.program(
        agent,
        "cat >/dev/null\necho launched >>launches\ncase $(wc -l <launches | tr -d ' ') in\n"
        f"1) cat {shlex.quote(str(project.programs / 'not_yet.ndjson'))} ;;\n"
        f"2) echo {shlex.quote(strange)} ;;\n"
        f"*) cat {shlex.quote(str(file))} ;;\nesac\n",
    )

    told = run(project, agent, 0)

    assert launches(project) == 3
    assert "dialect" not in told


def test_lines_that_are_no_events_are_no_dialect(project: Project) -> None:
    install(project, "claude", "Execution error\n")
    project.settings(limits={"maxAttempts": 1})

    told = run(project, "claude", 4)

    assert "empty response" in told
    assert "dialect" not in told


def test_an_honest_empty_answer_is_tried_again(project: Project) -> None:
    """Also when the agent prints events that nobody knows, as long as they hold no words."""
    empty = (STREAMS / "codex" / "empty_text.ndjson").read_text()
    install(project, "codex", '{"type":"thread.forked","thread_id":"t-1"}\n' + empty)
    project.settings(limits={"maxAttempts": 1})

    told = run(project, "codex", 4)

    assert "empty response" in told
    assert "dialect" not in told


def as_package(project: Project, program: str, package: str, version: str) -> None:
    described = {"name": package, "version": version}
    (project.programs / "package.json").write_text(json.dumps(described))


def shown(project: Project) -> dict[str, Any]:
    view: dict[str, Any] = json.loads(project.ralph("show", "--json", check=0).stdout)
    return view
