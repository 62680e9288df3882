"""Whatever the text: a judgement, and no exception."""

from __future__ import annotations

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.guard.guard import judge
from ralph.guard.judgement import GuardRules, Judgement

ALL = GuardRules(packs=frozenset(["all"]))
PIECES = st.sampled_from(
    [
        "rm",
        "-rf",
        "/",
        "git",
        "reset",
        "--hard",
        "$(",
        ")",
        "`",
        "'",
        '"',
        "${",
        "}",
        "$((",
        "))",
        "{",
        "}",
        "(",
        ")",
        ";",
        "&",
        "|",
        "&&",
        "||",
        "<",
        ">",
        "<<",
        "<<<",
        "<(",
        "EOF",
        "\n",
        "\\",
        "#",
        "*",
        "?",
        "~",
        "$HOME",
        "$x",
        "${x:-",
        "sudo",
        "env",
        "xargs",
        "-I{}",
        "{}",
        "find",
        "-exec",
        ";",
        "bash",
        "-c",
        "eval",
        "source",
        "python3",
        "-e",
        "awk",
        "system(",
        "x=",
        "y=(",
        ")",
        "for",
        "in",
        "do",
        "done",
        "case",
        "esac",
        "if",
        "then",
        "fi",
        "function",
        "f()",
        "--",
        "-",
        "@(",
        "!(",
        "[[",
        "]]",
        "$'\\x72",
        "{a,b}",
        "{1..9}",
        "parallel",
        ":::",
        "curl",
        "base64",
        "-d",
        "|",
        "sh",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=4_000))
def test_any_text_gets_a_judgement(text: str) -> None:
    assert isinstance(judge(text, ALL), Judgement)


@settings(max_examples=600, deadline=None)
@given(st.lists(PIECES, max_size=60), st.sampled_from(["", " "]))
def test_any_mixture_of_shell_signs_gets_a_judgement_that_is_no_accident(
    pieces: list[str], glue: str
) -> None:
    judgement = judge(glue.join(pieces), ALL)

    assert "could not read" not in judgement.reason, "an exception was caught"


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet=string.ascii_lowercase + " ./_", min_size=1, max_size=40))
def test_a_danger_behind_any_harmless_words_is_still_found(words: str) -> None:
    assert judge(f"echo {words}; rm -rf /").is_blocked


@pytest.mark.parametrize(
    "text",
    [
        "$(" * 3_000,
        "`" * 4_001,
        "{a,b}" * 60,
        "(" * 4_000,
        '"$(' * 2_000,
        "$((" * 2_000,
        "${a:-" * 2_000,
        "<<A " * 1_000 + "\nx\n" * 1_000,
        "case x in " + "a) b ;; " * 2_000,
        "xargs " * 1_000 + "rm",
        "sudo " * 3_000 + "rm -rf /",
        "python3 -c '" + 'open("a" ' * 3_000 + "'",
        "node -e '" + "exec(`" * 3_000 + "'",
        "cat <<A\n" + "$(cat <<B\n" * 500,
        "f(){ g;g;};g(){ h;h;};h(){ i;i;};i(){ j;j;};j(){ k;k;};k(){ ls;ls;};f",
        "@(" * 3_000,
        "\\" * 4_000,
    ],
    ids=lambda text: text[:12],
)
def test_hostile_nesting_is_bounded(text: str) -> None:
    judgement = judge(text, ALL)

    assert "could not read" not in judgement.reason, "an exception was caught"
