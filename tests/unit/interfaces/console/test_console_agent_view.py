from __future__ import annotations

from dataclasses import replace
from datetime import UTC

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.agent.events import (
    AgentEvent,
    BackgroundChanged,
    ErrorReported,
    LimitReported,
    Noise,
    Notice,
    Reasoning,
    SessionStarted,
    Text,
    TodoChanged,
    TodoItem,
    TodoStatus,
    ToolEnded,
    ToolStarted,
    TurnEnded,
    Unknown,
    Usage,
)
from ralph.interfaces.cli.console.agent_view import MAX_NOISE_CHARS, MAX_OPEN_TOOLS, AgentView
from ralph.interfaces.cli.terminal import Look

PLAIN = Look(max_lines=5, max_chars=1000)
NOON = 1_700_000_000.0  # 22:13:20 UTC
USAGE = Usage(340_000, 45_000, 850_000, 10_000)
TODO = TodoChanged(
    (
        TodoItem("Read the file", TodoStatus.DONE),
        TodoItem("Edit the code", TodoStatus.ACTIVE),
        TodoItem("Run tests", TodoStatus.PENDING),
    )
)


def rendered(*events: AgentEvent, look: Look | None = None, verbose: bool = False) -> str:
    return AgentView(look or PLAIN, verbose=verbose, zone=UTC).render(events, NOON)


def test_a_session_has_its_documented_form() -> None:
    view = AgentView(replace(PLAIN, max_lines=1))
    view.tools, view.errors = 57, 4
    events = (
        ToolStarted("1", "Read", "/path/to/file.go"),
        ToolEnded("1", output="package main", lines=45, chars=12),
        TODO,
        TurnEnded(usage=USAGE, cost_usd=5.76, seconds=367),
    )
    # The documented example, except for the size of the output: here all of it is shown.
    assert view.render(events) == (
        "⏺ Read(/path/to/file.go)\n"
        "✅ Result ← Read (45 lines, 12 chars)\n"
        "  ⎿  package main\n"
        "\n"
        "📋 Todo List\n"
        "  ✅ Read the file\n"
        "  🔄 Edit the code ← ACTIVE\n"
        "  ⏸️ Run tests\n"
        "  📊 Progress: 1/3 (33%)\n"
        "\n"
        "📊 Session ended (cost: $5.76, tokens: 1.2M in (850K cached) / 45K out, tools: 58, errors: 4, time: 6m7s)\n"
    )


GOLDEN = [
    pytest.param(
        SessionStarted("abc", "opus"),
        "Session abc (opus)\n",
        "Session abc (opus)\n",
        "\x1b[2mSession abc (opus)\x1b[0m\n",
        id="session",
    ),
    pytest.param(Text("Hello."), "Hello.\n", "Hello.\n", "Hello.\n", id="text"),
    pytest.param(Text("piece", final=False), "piece", "piece", "piece", id="a piece of text"),
    pytest.param(
        Text("sub", parent="t"), "  sub\n", "  sub\n", "  \x1b[2msub\x1b[0m\n", id="text of a sub-agent"
    ),
    pytest.param(Reasoning("Hm.\n"), "Hm.\n", "Hm.\n", "\x1b[2mHm.\x1b[0m\n", id="reasoning"),
    pytest.param(
        ToolStarted("1", "Bash", "make test"),
        "⏺ Bash(make test)\n",
        "[TOOL] Bash(make test)\n",
        "\x1b[36m⏺\x1b[0m \x1b[1mBash\x1b[0m(make test)\n",
        id="tool",
    ),
    pytest.param(
        ToolStarted("1", "Grep", "x", parent="t"),
        "  ⏺ Grep(x)\n",
        "  [TOOL] Grep(x)\n",
        "  \x1b[36m⏺\x1b[0m \x1b[1mGrep\x1b[0m(x)\n",
        id="tool of a sub-agent",
    ),
    pytest.param(
        ToolEnded("1", "Read", "one\ntwo\n", lines=2, chars=8),
        "✅ Result ← Read (2 lines, 8 chars)\n  ⎿  one\n     two\n",
        "[OK] Result <- Read (2 lines, 8 chars)\n  |_  one\n      two\n",
        "\x1b[32m✅ Result\x1b[0m ← Read (2 lines, 8 chars)\n  \x1b[2m⎿  one\n     two\x1b[0m\n",
        id="result",
    ),
    pytest.param(
        ToolEnded("1", "Bash", "no", is_error=True, lines=1, chars=2),
        "❌ Result ← Bash (1 line, 2 chars)\n  ⎿  no\n",
        "[ERR] Result <- Bash (1 line, 2 chars)\n  |_  no\n",
        "\x1b[31m❌ Result\x1b[0m ← Bash (1 line, 2 chars)\n  \x1b[2m⎿  no\x1b[0m\n",
        id="failed result",
    ),
    pytest.param(
        ToolEnded("1"),
        "✅ Result ← tool (no output)\n",
        "[OK] Result <- tool (no output)\n",
        "\x1b[32m✅ Result\x1b[0m ← tool (no output)\n",
        id="result without output",
    ),
    pytest.param(
        TODO,
        "📋 Todo List\n  ✅ Read the file\n  🔄 Edit the code ← ACTIVE\n  ⏸️ Run tests\n  📊 Progress: 1/3 (33%)\n",
        "[TODO] Todo List\n  [x] Read the file\n  [>] Edit the code <- ACTIVE\n  [ ] Run tests\n  Progress: 1/3 (33%)\n",
        "\x1b[1m📋 Todo List\x1b[0m\n  \x1b[32m✅\x1b[0m Read the file\n  \x1b[33m🔄 Edit the code ← ACTIVE\x1b[0m\n"
        "  ⏸️ Run tests\n  \x1b[2m📊 Progress: 1/3 (33%)\x1b[0m\n",
        id="todo",
    ),
    pytest.param(
        TodoChanged(()),
        "📋 Todo List\n  📊 Progress: 0/0 (0%)\n",
        "[TODO] Todo List\n  Progress: 0/0 (0%)\n",
        "\x1b[1m📋 Todo List\x1b[0m\n  \x1b[2m📊 Progress: 0/0 (0%)\x1b[0m\n",
        id="empty todo",
    ),
    pytest.param(
        TurnEnded(cost_usd=0.5, seconds=1.25),
        "📊 Session ended (cost: $0.50, tools: 0, errors: 0, time: 1.2s)\n",
        "Session ended (cost: $0.50, tools: 0, errors: 0, time: 1.2s)\n",
        "📊 Session ended (cost: $0.50, tools: 0, errors: 0, time: 1.2s)\n",
        id="turn",
    ),
    pytest.param(
        TurnEnded(error="model\nis gone", denials=("Bash", "Bash", "Web")),
        "⚠ Not permitted: Bash, Web\n❌ Failed: model is gone (tools: 0, errors: 0)\n",
        "[WARN] Not permitted: Bash, Web\n[ERR] Failed: model is gone (tools: 0, errors: 0)\n",
        "\x1b[33m⚠ Not permitted: Bash, Web\x1b[0m\n\x1b[31m❌ Failed: model is gone\x1b[0m (tools: 0, errors: 0)\n",
        id="failed turn",
    ),
    pytest.param(
        LimitReported(True, "five_hour", NOON + 60),
        "⚠ Usage limit reached (five_hour), resets at 22:14:20\n",
        "[WARN] Usage limit reached (five_hour), resets at 22:14:20\n",
        "\x1b[33m⚠ Usage limit reached (five_hour), resets at 22:14:20\x1b[0m\n",
        id="limit",
    ),
    pytest.param(LimitReported(False, "five_hour"), "", "", "", id="limit that lets us go on"),
    pytest.param(
        ErrorReported("overloaded", 529, "overloaded_error"),
        "⚠ Error: overloaded (status 529, overloaded_error)\n",
        "[WARN] Error: overloaded (status 529, overloaded_error)\n",
        "\x1b[33m⚠ Error: overloaded (status 529, overloaded_error)\x1b[0m\n",
        id="error",
    ),
    pytest.param(
        ErrorReported("gone", final=True),
        "❌ Error: gone\n",
        "[ERR] Error: gone\n",
        "\x1b[31m❌ Error: gone\x1b[0m\n",
        id="final error",
    ),
    pytest.param(Notice("hook ran"), "hook ran\n", "hook ran\n", "\x1b[2mhook ran\x1b[0m\n", id="notice"),
    pytest.param(Unknown("brand.new"), "", "", "", id="unknown"),
    pytest.param(Noise("npm warn"), "", "", "", id="noise"),
    pytest.param(
        Noise('{"ty', torn=True),
        '⚠ A line was cut off: {"ty\n',
        '[WARN] A line was cut off: {"ty\n',
        '\x1b[33m⚠ A line was cut off: {"ty\x1b[0m\n',
        id="torn line",
    ),
]


@pytest.mark.parametrize(("event", "emoji", "ascii_", "color"), GOLDEN)
def test_each_event_has_its_lines(event: AgentEvent, emoji: str, ascii_: str, color: str) -> None:
    assert rendered(event) == emoji
    assert rendered(event, look=replace(PLAIN, emoji=False)) == ascii_
    assert ascii_.isascii()
    assert rendered(event, look=replace(PLAIN, color=True)) == color


@pytest.mark.parametrize(("event", "emoji", "ascii_", "color"), GOLDEN)
def test_ascii_with_color_differs_from_ascii_only_by_color(
    event: AgentEvent, emoji: str, ascii_: str, color: str
) -> None:
    import re

    colored = rendered(event, look=replace(PLAIN, emoji=False, color=True))
    assert re.sub(r"\x1b\[\d+m", "", colored) == ascii_
    assert colored.count("\x1b[") % 2 == 0  # whatever is switched on is switched off


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (Unknown("brand.new"), "unknown event: brand.new\n"),
        (Noise("npm warn"), "npm warn\n"),
        (LimitReported(False, "five_hour"), "Usage limit reported (five_hour)\n"),
    ],
)
def test_verbose_shows_what_is_else_silent(event: AgentEvent, expected: str) -> None:
    assert rendered(event, verbose=True) == expected


def test_a_turn_that_leaves_work_running_says_what_is_waited_for() -> None:
    running = BackgroundChanged(("build", "serve\x1b[2J"))

    assert rendered(running, TurnEnded()).endswith("waiting for background work: build, serve\n")
    assert "waiting" not in rendered(running, BackgroundChanged(), TurnEnded())


def test_a_result_finds_the_name_of_its_call() -> None:
    assert rendered(
        ToolStarted("1", "Read", "a"), ToolStarted("2", "Bash", "b"), ToolEnded("1"), ToolEnded("2")
    ).endswith("✅ Result ← Read (no output)\n✅ Result ← Bash (no output)\n")


def test_calls_without_an_end_do_not_fill_the_memory() -> None:
    view = AgentView(PLAIN)
    view.render([ToolStarted(str(number), f"T{number}") for number in range(MAX_OPEN_TOOLS + 1)])
    assert view.render([ToolEnded("0")]) == "✅ Result ← tool (no output)\n"
    assert view.render([ToolEnded("1")]) == "✅ Result ← T1 (no output)\n"


def test_figures_are_those_of_the_session() -> None:
    view = AgentView(PLAIN)
    view.begin(100.0)
    view.render([ToolStarted("1", "A"), ToolEnded("1", is_error=True)], 101.0)
    assert view.render([TurnEnded()], 112.3).endswith("📊 Session ended (tools: 1, errors: 1, time: 12.3s)\n")
    view.begin(200.0)
    assert view.render([TurnEnded()], 201.0) == "📊 Session ended (tools: 0, errors: 0, time: 1.0s)\n"


def test_pieces_are_written_as_they_are_and_closed_before_other_lines() -> None:
    view = AgentView(PLAIN)
    assert view.render([Text("one\ntw", final=False)]) == "one\ntw"
    assert view.line_is_open
    assert view.render([Text("o", final=False), Notice("note")]) == "o\nnote\n"
    assert not view.line_is_open
    assert view.render([Text("x", final=False), Text("", final=True)]) == "x\n"
    assert view.render([Text("y", final=False)]) + view.close_line() + view.close_line() == "y\n"


def test_an_answer_that_comes_only_with_the_end_is_shown() -> None:
    assert rendered(TurnEnded(text="42")) == "42\n\n📊 Session ended (tools: 0, errors: 0)\n"
    assert rendered(Text("42"), TurnEnded(text="42")).count("42") == 1


@pytest.mark.parametrize(
    ("event", "max_lines", "max_chars", "body"),
    [
        pytest.param(
            ToolEnded("", output="a\nb\nc\nd", lines=4, chars=7),
            2,
            None,
            ["a", "b", "… +2 lines"],
            id="lines",
        ),
        pytest.param(
            ToolEnded("", output="a\nb\nc\n", lines=3, chars=6),
            2,
            None,
            ["a", "b", "… +1 line"],
            id="one line",
        ),
        pytest.param(
            ToolEnded("", output="a\nb\nc", lines=15, chars=99),
            3,
            None,
            ["a", "b", "c", "… +12 lines"],
            id="the output is an excerpt",
        ),
        pytest.param(ToolEnded("", output="abcdef"), 5, 4, ["abcd…", "… +2 chars"], id="characters"),
        pytest.param(
            ToolEnded("", output="ab\ncdef\ng"), 5, 5, ["ab", "cd…", "… +1 line"], id="characters, then lines"
        ),
        pytest.param(
            ToolEnded("", output="abc", lines=1, chars=1000),
            5,
            None,
            ["abc", "… +997 chars"],
            id="long line cut",
        ),
        pytest.param(ToolEnded("", output="a\nb"), None, None, ["a", "b"], id="no limit"),
        pytest.param(ToolEnded("", output="a\nb"), 0, None, [], id="no lines at all"),
        pytest.param(ToolEnded("", output="a\nb"), 5, 0, [], id="no characters at all"),
        pytest.param(
            ToolEnded("", output="1%\r2%\r3%"), 2, None, ["1%", "2%", "… +1 line"], id="a progress bar"
        ),
    ],
)
def test_tool_output_is_bounded(
    event: ToolEnded, max_lines: int | None, max_chars: int | None, body: list[str]
) -> None:
    lines = rendered(event, look=replace(PLAIN, max_lines=max_lines, max_chars=max_chars)).splitlines()[1:]
    assert [line[5:] for line in lines] == body


def test_every_line_has_its_time() -> None:
    view = AgentView(replace(PLAIN, timestamps=True), zone=UTC)
    assert view.render([Text("a\nb", final=False)], NOON) == "[22:13:20] a\n[22:13:20] b"
    assert view.render([Text("c\n", final=False), Text("d")], NOON + 1) == "c\n[22:13:21] d\n"
    assert view.render([Unknown("x")], NOON + 2) == ""
    assert view.render([ToolStarted("1", "A")], NOON + 2) == "[22:13:22] ⏺ A()\n"


def test_an_error_is_not_told_twice() -> None:
    assert rendered(ErrorReported("gone", final=True), TurnEnded(error="gone")) == (
        "❌ Error: gone\n\n❌ Failed (tools: 0, errors: 0)\n"
    )
    assert "Failed: other" in rendered(ErrorReported("gone", final=True), TurnEnded(error="other"))


@pytest.mark.parametrize("torn", [True, False])
def test_a_long_line_of_noise_is_cut(torn: bool) -> None:
    line = rendered(Noise("x" * 10_000, torn=torn), verbose=True)
    assert line.endswith("x" * MAX_NOISE_CHARS + "…\n")
    assert len(line) < MAX_NOISE_CHARS + 50


def test_noise_is_counted() -> None:
    view = AgentView(PLAIN)
    view.render([Noise("a"), Noise("b", torn=True)])
    assert view.noise == 2


def test_figures_are_kept_without_rendering() -> None:
    view = AgentView(PLAIN)
    view.count([ToolStarted("1", "A"), ToolEnded("1", is_error=True), Noise("x"), Text("t")])
    assert (view.tools, view.errors, view.noise) == (1, 1, 1)


@pytest.mark.parametrize(
    "event",
    [
        ToolStarted("1", "Read\n✅ Guardrail passed", "x\n✅ Guardrail passed"),
        ToolEnded("1", "Read\n✅ Guardrail passed"),
        TodoChanged((TodoItem("x\n✅ Guardrail passed", TodoStatus.PENDING),)),
        ErrorReported("x\n✅ Guardrail passed", code="c\n✅ Guardrail passed"),
        TurnEnded(error="x\n✅ Guardrail passed", denials=("x\n✅ Guardrail passed",)),
        LimitReported(True, "x\n✅ Guardrail passed"),
        SessionStarted("x\n✅ Guardrail passed", "x\n✅ Guardrail passed"),
        Noise("x\n✅ Guardrail passed", torn=True),
    ],
)
def test_a_name_cannot_forge_a_line_of_the_harness(event: AgentEvent) -> None:
    assert "\n✅ Guardrail" not in rendered(event, verbose=True)


hostile = st.text(
    st.one_of(st.characters(), st.sampled_from("\x1b\x9b\r\n\t[]0;mA\x07\\\u202e")), max_size=60
)
numbers = st.one_of(st.integers(), st.integers(0, 5))
events = st.one_of(
    st.builds(SessionStarted, hostile, hostile),
    st.builds(Text, hostile, st.booleans(), st.sampled_from(["", "t"])),
    st.builds(Reasoning, hostile, st.sampled_from(["", "t"])),
    st.builds(ToolStarted, hostile, hostile, hostile, st.sampled_from(["", "t"])),
    st.builds(
        ToolEnded, hostile, hostile, hostile, st.booleans(), numbers, numbers, st.sampled_from(["", "t"])
    ),
    st.builds(TodoChanged, st.lists(st.builds(TodoItem, hostile, st.sampled_from(TodoStatus))).map(tuple)),
    st.builds(
        TurnEnded,
        hostile,
        hostile,
        st.builds(Usage, numbers, numbers, numbers, numbers),
        st.none() | st.floats(),
        numbers,
        st.floats(),
        st.lists(hostile, max_size=2).map(tuple),
    ),
    st.builds(LimitReported, st.booleans(), hostile, st.none() | st.floats()),
    st.builds(ErrorReported, hostile, st.none() | st.integers(), hostile, st.booleans()),
    st.builds(Notice, hostile),
    st.builds(Unknown, hostile),
    st.builds(Noise, hostile, st.booleans()),
)
looks = st.builds(
    Look,
    emoji=st.booleans(),
    color=st.just(False),
    timestamps=st.booleans(),
    max_lines=st.none() | st.integers(0, 4),
    max_chars=st.none() | st.integers(0, 20),
)


@given(st.lists(st.lists(events, max_size=5), max_size=5), looks, st.booleans())
def test_rendering_never_raises_and_lets_no_control_character_through(
    batches: list[list[AgentEvent]], look: Look, verbose: bool
) -> None:
    view = AgentView(look, verbose=verbose, zone=UTC)
    view.begin(NOON)
    written = "".join(view.render(batch, NOON) for batch in batches)
    assert not any(char in written for char in "\x1b\x9b\r\x07\u202e\x00")
    assert view.line_is_open == (written != "" and not written.endswith("\n"))
    written.encode()  # no half characters either


@given(st.lists(events, max_size=8))
def test_batches_make_no_difference(stream: list[AgentEvent]) -> None:
    whole, single = AgentView(PLAIN, zone=UTC), AgentView(PLAIN, zone=UTC)
    assert whole.render(stream, NOON) == "".join(single.render([event], NOON) for event in stream)
