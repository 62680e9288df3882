from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.processes.redaction import Redactor, redact_argv, secrets_in
from ralph.domain.text.secret_names import MASK

SECRET = "sk-ant-0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ANTHROPIC_API_KEY", SECRET),
        ("GITHUB_TOKEN", "ghp_abcdefghij"),
        ("DB_PASSWORD", "correcthorse"),
        ("MY_SECRET", "/Zx9+notApath="),
        ("aws_secret_access_key", "/uXbcdefghij/0123456789+abcdef=="),
        ("NPM_AUTH", "dXNlcjpwYXNz"),
        ("DATABASE_PASSWORD_URL", "postgres://user:pass@host/db"),
    ],
)
def test_a_value_is_secret_if_its_name_says_so(name: str, value: str) -> None:
    assert secrets_in({name: value}) == {value}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PATH", "/usr/bin:/bin"),
        ("KEYBOARD", "something-long"),  # only whole words
        ("AUTHOR", "Somebody Else"),
        ("MONKEY", "something-long"),
        ("API_KEY", "short"),
        ("SSH_AUTH_SOCK", "/tmp/ssh-abc/agent.123"),
        ("KEY_FILE", "~/.config/key.pem"),
        ("MAX_TOKENS", "100000000"),
        ("USE_TOKEN", "false"),
        ("AUTH_MODE", "required"),
        ("AUTH_URL", "https://login.example.com/path"),
        ("PWD", "/home/somebody/project"),
    ],
)
def test_a_value_that_is_evidently_something_else_stays(name: str, value: str) -> None:
    assert secrets_in({name: value}) == set()


def test_values_are_masked_in_text_and_bytes() -> None:
    redactor = Redactor([SECRET, "other-secret"])
    assert redactor.redact(f"a {SECRET} b other-secret {SECRET}") == f"a {MASK} b {MASK} {MASK}"
    assert redactor.redact_bytes(f"\xff{SECRET}".encode("latin-1")) == b"\xff" + MASK.encode()


def test_the_longer_of_two_secrets_that_begin_alike_is_masked_whole() -> None:
    assert Redactor(["abcdefgh", "abcdefghij"]).redact("xabcdefghijx") == f"x{MASK}x"


def test_a_secret_is_masked_inside_json_too() -> None:
    secret = 'with "quotes" and \\ and ü'
    redactor = Redactor([secret])
    for ascii_only in (True, False):
        printed = json.dumps({"output": f"<{secret}>"}, ensure_ascii=ascii_only)
        assert json.loads(redactor.redact(printed)) == {"output": f"<{MASK}>"}


def test_a_secret_of_several_lines_is_masked_line_by_line() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----"
    shown = Redactor([key]).redact("  AQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----")
    assert shown == f"  {MASK}\n-----END KEY-----"


def test_without_secrets_nothing_is_copied() -> None:
    redactor, text, block = Redactor(), "text", b"block\n"
    assert redactor.redact(text) is text
    assert redactor.redact_bytes(block) is block
    assert redactor.stream().feed(block) is block


@given(
    st.lists(st.sampled_from(["secret-a", "secret-abc", "aab", "s", "c-", " ", "\n"]), max_size=30).map(
        "".join
    ),
    st.lists(st.integers(0, 300), max_size=10),
)
def test_a_stream_is_masked_the_same_however_it_is_cut(text: str, cuts: list[int]) -> None:
    redactor = Redactor(["secret-a", "secret-abc", "aab"])
    block = text.encode()
    places = sorted({0, len(block), *(place % (len(block) + 1) for place in cuts)})
    stream = redactor.stream()
    pieces = [stream.feed(block[a:b]) for a, b in pairwise(places)]
    whole = b"".join([*pieces, stream.finish()])
    assert whole == redactor.redact_bytes(block)


def test_a_stream_holds_back_nothing_but_a_possible_beginning() -> None:
    stream = Redactor([SECRET]).stream()
    assert stream.feed(b"progress ..") == b"progress .."
    assert stream.feed(b" then sk-a") == b" then "
    assert stream.feed(b"lmost ") == b"sk-almost "


@pytest.mark.parametrize(
    ("argv", "shown"),
    [
        (["claude", "-p", "fix it"], "claude -p 'fix it'"),
        (["x", f"--api-key={SECRET}"], f"x --api-key={MASK}"),
        (["x", "--token", SECRET, "run"], f"x --token {MASK} run"),
        (["x", "--token", "--verbose"], "x --token --verbose"),
        (["env", f"GH_TOKEN={SECRET}", "gh"], f"env GH_TOKEN={MASK} gh"),
        (["curl", "-H", f"Authorization: Bearer {SECRET}"], f"curl -H 'Authorization: {MASK}'"),
        (
            ["x", "--max-tokens", "100", "--key-file", "/etc/a/key"],
            "x --max-tokens 100 --key-file /etc/a/key",
        ),
        (["x", "--author", "Some Body"], "x --author 'Some Body'"),
    ],
)
def test_a_command_line_is_shown_without_its_secrets(argv: list[str], shown: str) -> None:
    assert redact_argv(argv) == shown
