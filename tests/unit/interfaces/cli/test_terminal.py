from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import TextIO

import pytest

from ralph.interfaces.cli.terminal import (
    Choice,
    Look,
    detect_look,
    display_width,
    fit,
    same_place,
    terminal_width,
)


class Stream(io.StringIO):
    """A stream that is, or is not, a terminal of some encoding."""

    def __init__(self, *, tty: bool = True, encoding: str = "utf-8") -> None:
        super().__init__()
        self._tty = tty
        self._encoding = encoding

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._encoding

    def isatty(self) -> bool:
        return self._tty


TERMINAL = {"TERM": "xterm-256color", "LANG": "en_US.UTF-8"}


def detected(
    stream: TextIO, environ: Mapping[str, str], *, emoji: Choice = "auto", color: Choice = "auto"
) -> Look:
    return detect_look(stream, environ, max_lines=5, max_chars=1000, emoji=emoji, color=color)


@pytest.mark.parametrize(
    ("environ", "tty", "choice", "expected"),
    [
        pytest.param(TERMINAL, True, "auto", True, id="a terminal"),
        pytest.param(TERMINAL, False, "auto", False, id="a pipe"),
        pytest.param({**TERMINAL, "NO_COLOR": "1"}, True, "auto", False, id="NO_COLOR"),
        pytest.param({**TERMINAL, "NO_COLOR": ""}, True, "auto", True, id="an empty NO_COLOR says nothing"),
        pytest.param({**TERMINAL, "NO_COLOR": "1"}, True, "always", True, id="a flag beats NO_COLOR"),
        pytest.param(
            {**TERMINAL, "NO_COLOR": "1", "FORCE_COLOR": "1"}, True, "auto", False, id="NO beats FORCE"
        ),
        pytest.param({"FORCE_COLOR": "1"}, False, "auto", True, id="FORCE_COLOR on a pipe"),
        pytest.param({**TERMINAL, "FORCE_COLOR": "0"}, True, "auto", False, id="FORCE_COLOR=0"),
        pytest.param({"CLICOLOR_FORCE": "1"}, False, "auto", True, id="CLICOLOR_FORCE on a pipe"),
        pytest.param({**TERMINAL, "CLICOLOR": "0"}, True, "auto", False, id="CLICOLOR=0"),
        pytest.param({"TERM": "dumb"}, True, "auto", False, id="a dumb terminal"),
        pytest.param({}, True, "auto", False, id="a terminal of unknown kind"),
        pytest.param(TERMINAL, True, "never", False, id="never"),
    ],
)
def test_color_is_shown_where_it_is_wanted(
    environ: Mapping[str, str], tty: bool, choice: Choice, expected: bool
) -> None:
    assert detected(Stream(tty=tty), environ, color=choice).color is expected


@pytest.mark.parametrize(
    ("environ", "encoding", "choice", "expected"),
    [
        pytest.param(TERMINAL, "utf-8", "auto", True, id="UTF-8"),
        pytest.param(TERMINAL, "ascii", "auto", False, id="ASCII"),
        pytest.param(TERMINAL, "cp1252", "auto", False, id="a code page"),
        pytest.param(TERMINAL, "no-such-codec", "auto", False, id="an unknown encoding"),
        pytest.param({}, "utf-8", "auto", True, id="no locale: the encoding decides"),
        pytest.param({"LANG": "C"}, "utf-8", "auto", False, id="LANG=C"),
        pytest.param(
            {"LANG": "C", "LC_CTYPE": "C.UTF-8"}, "utf-8", "auto", False, id="LANG=C coerced by Python"
        ),
        pytest.param({"LC_CTYPE": "C.UTF-8"}, "utf-8", "auto", True, id="no locale, coerced by Python"),
        pytest.param(
            {"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, "utf-8", "auto", True, id="LC_CTYPE beats LANG"
        ),
        pytest.param(
            {"LANG": "de_DE.UTF-8", "LC_ALL": "POSIX"}, "utf-8", "auto", False, id="LC_ALL beats LANG"
        ),
        pytest.param({"LANG": "C", "LC_ALL": "C.UTF-8"}, "utf-8", "auto", True, id="LC_ALL asks for UTF-8"),
        pytest.param({"TERM": "linux"}, "utf-8", "auto", False, id="the Linux text console"),
        pytest.param({"LANG": "C"}, "ascii", "always", True, id="always"),
        pytest.param(TERMINAL, "utf-8", "never", False, id="never"),
    ],
)
def test_emoji_are_shown_where_they_can_be_seen(
    environ: Mapping[str, str], encoding: str, choice: Choice, expected: bool
) -> None:
    assert detected(Stream(encoding=encoding), environ, emoji=choice).emoji is expected


@pytest.mark.parametrize(
    ("environ", "tty", "expected"),
    [
        pytest.param(TERMINAL, True, True, id="a terminal"),
        pytest.param(TERMINAL, False, False, id="a pipe"),
        pytest.param({**TERMINAL, "TERM": "dumb"}, True, False, id="a dumb terminal"),
        pytest.param({**TERMINAL, "CI": "true"}, True, False, id="CI"),
        pytest.param({**TERMINAL, "CI": "false"}, True, True, id="CI=false"),
    ],
)
def test_a_line_is_redrawn_only_where_somebody_watches(
    environ: Mapping[str, str], tty: bool, expected: bool
) -> None:
    assert detected(Stream(tty=tty), environ).live is expected


def test_options_reach_the_look() -> None:
    look = detect_look(Stream(tty=False), {}, timestamps=True, max_lines=3, max_chars=None)
    assert look == Look(emoji=True, timestamps=True, max_lines=3, max_chars=None, width=80)


def test_a_closed_stream_is_no_terminal() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    stream.close()
    look = detected(stream, TERMINAL)
    assert (look.color, look.live, look.width) == (False, False, 80)


def test_the_width_of_a_real_terminal_is_asked_for() -> None:
    import fcntl
    import struct
    import termios

    controller, terminal = os.openpty()
    with os.fdopen(controller, "rb"), os.fdopen(terminal, "w") as stream:
        fcntl.ioctl(stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, 57, 0, 0))
        look = detected(stream, TERMINAL)
        assert (look.width, look.live, look.color) == (57, True, True)
        fcntl.ioctl(stream.fileno(), termios.TIOCSWINSZ, struct.pack("HHHH", 24, 0, 0, 0))
        assert terminal_width(stream, 33) == 33


def test_streams_of_one_destination_are_recognized() -> None:
    read_end, write_end = os.pipe()
    with (
        os.fdopen(read_end),
        os.fdopen(write_end, "w") as one,
        os.fdopen(os.dup(write_end), "w") as twin,
        open(os.devnull, "w") as elsewhere,  # noqa: PTH123 - the null device is no path to care for
    ):
        assert same_place(one, twin)
        assert not same_place(one, elsewhere)
    memory = io.StringIO()
    assert same_place(memory, memory)
    assert not same_place(memory, io.StringIO())


@pytest.mark.parametrize(
    ("text", "columns"),
    [("abc", 3), ("é", 1), ("e\u0301", 1), ("日本", 4), ("✅", 2), ("⏸️", 2), ("·…", 2), ("", 0)],
)
def test_display_width_counts_columns(text: str, columns: int) -> None:
    assert display_width(text) == columns


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("日本語", 4, "日…"),
        ("abc", 1, "…"),
        ("abc", 0, ""),
        ("abc", -3, ""),
    ],
)
def test_fit_never_exceeds_the_width(text: str, width: int, expected: str) -> None:
    assert fit(text, width) == expected
    assert display_width(expected) <= max(0, width)
