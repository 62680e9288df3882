"""What a stream shows of its secrets does not depend on the pieces in which it comes: as much is masked as in one piece."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ralph.adapters.processes.redaction import CompileSearch, Redactor
from ralph.adapters.processes.sign_search import compile_search
from ralph.domain.text.secret_names import MASK
from ralph.domain.text.secret_signs import SIGNS

S = "S3cr3tV4lue9x"
LONG = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
SHAPES = [
    "sk-ant" + "-api03-" + LONG,
    "ghp" + "_" + LONG[:36],
    "github_pat" + "_" + LONG + "_x",
    "glpat" + "-" + LONG[:20],
    "xoxb" + "-123456789012-" + LONG[:24],
    "xapp" + "-1-" + LONG[:20],
    "AKIA" + "Q7ABCDEFGHIJKLMN",
    "AIzaSy" + LONG[:33],
    "ya29" + "." + LONG,
    "eyJ" + LONG[:20] + ".eyJ" + LONG + "." + LONG,
    "npm" + "_" + LONG[:36],
    "hf" + "_" + LONG[:36],
    "sk_live" + "_" + LONG[:24],
    "hvs" + "." + LONG,
    "glsa" + "_" + LONG[:16] + "+" + LONG[:16] + "==",
]
GIVEN = [
    f"MY_TOKEN={S}",
    f"DEPLOY_PAT={S}",
    f"NPM_AUTH={S}",
    f"PAT_OF_MINE={S}",
    f"PASSPHRASE={S}",
    f"--auth={S}",
    f"--auth {S}",
    f"--pat={S}",
    f"--pat {S}",
    f"--auth_={S}",
    f'--auth="{S}"',
    f'--auth=\\"{S}\\"',
    f"--my-pat '{S} {S}'",
    f"--cookie {S}",
    f"password: {S}",
    f'"client_secret": "{S}"',
    f'\\"api_key\\": \\"{S}\\"',
    f"api.key = {S}",
    f"Authorization: Bearer {LONG}",
    f"Cookie: a={S}; b={S}",
    f"postgres://me:{S}@h/db",
    f"https://h/p?a=b&sig={S}",
    f"https://h/p?a=b\\u0026code={S}",
    f"https://hooks.slack.com/services/{S}",
    f"curl -u me:{S} h",
    f"login me password {S}",
    f"mysql -h h -p{S}",
]
OF_THE_COMPILED = [
    f"http -a me:{S} h",
    f"xh -a me:{S} h",
    f"xh\t-a\tme:{S} h",
    f"sqlcmd -P {S}",
    f"bcp -P {S}",
    f"zip -P {S} x",
    f"docker login -u me -p {S}",
    f"redis-cli -a {S}",
    f"ldapsearch -w {S}",
    f"https://discord.com/api/webhooks/{S}",
    f"https://h.example/hooks/{LONG}",
]
SECRETS = [*SHAPES, *GIVEN, *OF_THE_COMPILED]
COLOURS = ["\x1b[1m", "\x1b[0m", "\x1b[m", "\x1b[1;31m", "\x1b[1;1m", "\\u001b[1m", "\\u001b[38;5;208m"]
BREAKS = ["\n", "\r\n", "\\n", "\\r\\n", "\\t", " ", "  ", '"', '\\"', "'", ", ", "(", "x=", ". "]
PLAIN = ["é", "a word", "done.", "path/to/file.py", "$HOME", "tokens", "-", "key", "http", "\\\\", "50 %"]
PIECES = st.one_of(*map(st.sampled_from, (SECRETS, COLOURS, BREAKS, BREAKS, PLAIN)))
TEXTS = st.lists(PIECES, min_size=1, max_size=9).map("".join)
CUTS = st.lists(st.integers(0, 10_000), min_size=1, max_size=12)


def search_in_python(_: object) -> None:
    return None


@pytest.fixture(params=["compiled", "python"], scope="module")
def compile_(request: pytest.FixtureRequest) -> CompileSearch:
    if request.param == "python":
        return search_in_python
    if compile_search(SIGNS) is None:
        pytest.skip("it was not built here: there was no C compiler")
    return compile_search


def in_pieces(redactor: Redactor, pieces: Iterator[bytes]) -> bytes:
    stream = redactor.stream()
    return b"".join([*map(stream.feed, pieces), stream.finish()])


def cut(block: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = sorted({0, len(block), *(place % (len(block) + 1) for place in cuts)})
    return (block[start:end] for start, end in pairwise(places))


def masks_no_less(shown: bytes, whole: bytes) -> bool:
    """Whether ``shown`` is ``whole`` with further parts of it masked."""
    parts = re.split(rb"((?:%s)+)" % re.escape(MASK.encode()), shown)
    like = b"".join(b".*" if number % 2 else re.escape(part) for number, part in enumerate(parts))
    return shown == whole or re.fullmatch(like, whole, re.DOTALL) is not None


@settings(max_examples=300)
@given(TEXTS, CUTS)
@example("--auth=" + S, [7])
@example("DEPLOY_PAT=" + S, [11])
@example("--pat " + S, [6])
@example('--auth=\\"' + S, [9])
@example("\x1b[1mAKIA" + "Q7ABCDEFGHIJKLMN", [10])
@example("\\u001b[1mAKIA" + "Q7ABCDEFGHIJKLMN", [7])
@example("api.key = " + S, [4])
@example("zip -P " + S, [7])
def test_a_stream_masks_no_less_than_one_piece(compile_: CompileSearch, text: str, cuts: list[int]) -> None:
    redactor = Redactor(compile_search=compile_)
    block = text.encode()
    whole = redactor.redact_bytes(block)
    if compile_ is search_in_python and any(each in text for each in OF_THE_COMPILED):
        return
    shown = in_pieces(redactor, cut(block, cuts))
    assert masks_no_less(shown, whole), (shown, whole)


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("before", ["", "a ", "\x1b[1m", "\\u001b[0m", "\\n", "x\\t", "é "])
def test_a_secret_is_masked_wherever_it_is_cut(compile_: CompileSearch, secret: str, before: str) -> None:
    if compile_ is search_in_python and secret in OF_THE_COMPILED:
        return
    redactor = Redactor(compile_search=compile_)
    block = f"{before}{secret}\\n and more\n".encode()
    whole = redactor.redact_bytes(block)
    for place in range(1, len(block)):
        assert masks_no_less(in_pieces(redactor, cut(block, [place])), whole), block[:place]
    assert masks_no_less(in_pieces(redactor, cut(block, list(range(len(block))))), whole)


LINES = [
    "{0}",
    "MY_TOKEN={0}",
    'export SERVICE_API_KEY="{0}"',
    "password1: {0}",
    "postgres://u:{0}@db/x",
    "--auth {0}",
]
LINES += [
    "curl -u me:{0} h",
    '{{"client_secret": "{0}"}}',
    "\x1b[1m{0}\x1b[0m",
    "Cookie: a={0}; b={0}",
    "Authorization: Bearer {0}",
]


@pytest.mark.parametrize("size", [4096, 65536])
@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("between", ["\n", " and words of a line "])
def test_a_long_line_of_json_shows_no_part_of_a_secret(
    compile_: CompileSearch, size: int, line: str, between: str, is_nested: bool
) -> None:
    secrets = [f"ghp_{number:04}" + LONG[number % 8 :][:32] for number in range(600)]
    text = between.join(map(line.format, secrets))
    printed = json.dumps({"content": [{"type": "tool_result", "content": text}]})
    block = (json.dumps({"line": printed}) if is_nested else printed).encode() + b"\n"
    redactor = Redactor(compile_search=compile_)
    shown = in_pieces(redactor, (block[start : start + size] for start in range(0, len(block), size)))
    assert b"ghp_" not in shown
    assert not [secret for secret in secrets if secret[-12:].encode() in shown]
    assert masks_no_less(shown, redactor.redact_bytes(block))


LONG_SECRETS = [
    "TOKEN='{0} {0}'",
    "TOKEN={0}",
    'TOKEN="{0} {0}"',
    "ghp_{0}",
    "--auth={0}",
    "Cookie: a={0}; b={0}",
    "TOKEN={0}!{0}#{0}",
]


@pytest.mark.parametrize("secret", LONG_SECRETS)
@pytest.mark.parametrize("size", [1000, 65536])
def test_a_secret_that_is_too_long_to_be_held_is_masked_to_its_end(
    compile_: CompileSearch, secret: str, size: int
) -> None:
    if compile_ is search_in_python and "--auth" in secret:
        return
    block = f"a {secret.format('xY7' * 30_000)}\n and more {LONG}\n".encode()
    redactor, most = Redactor(compile_search=compile_), 0
    stream = redactor.stream()
    shown = b""
    for start in range(0, len(block), size):
        shown += stream.feed(block[start : start + size])
        most = max(most, start + size - len(shown)) if b"[" not in shown else most
    shown += stream.finish()
    assert b"xY7xY7" not in shown
    assert f" and more {LONG}\n".encode() in shown
    assert most < 100_000


@pytest.mark.parametrize(
    "piece", [b"x", b"A1/b", b"a word ", b"token", b"--key ", b"\\n", b"-----BEGIN PRIVATE KEY-----"]
)
def test_a_line_without_end_flows(compile_: CompileSearch, piece: bytes) -> None:
    """As much comes out as goes in, but for what is held."""
    block = piece * (65536 // len(piece))
    stream = Redactor(compile_search=compile_).stream()
    for _ in range(16):
        shown = stream.feed(block)
        assert len(shown) > 30_000


@pytest.mark.parametrize("size", [61, 100, 4096, 5003, 65536])
@pytest.mark.parametrize("lines", [20, 120, 135, 1000])
@pytest.mark.parametrize("between", ["\n", "\\n", "\r\n    "])
@pytest.mark.parametrize("has_end", [True, False])
def test_a_private_key_of_any_length_is_masked(
    compile_: CompileSearch, size: int, lines: int, between: str, has_end: bool
) -> None:
    kind = "RSA PRIVATE" + " KEY-----"
    body = [
        f"{number:04}{'key' * (number % 9 == 5)}" + (LONG + LONG)[number % 8 :][:60]
        for number in range(lines)
    ]
    end = [f"-----END {kind}"] if has_end else []
    text = between.join([f"a\n-----BEGIN {kind}", "Proc-Type: 4,ENCRYPTED", "", *body, "Ab12+c==", *end])
    block = f'{text}", and more\n'.encode()
    redactor = Redactor(compile_search=compile_)
    shown = in_pieces(redactor, (block[start : start + size] for start in range(0, len(block), size)))
    for output in (shown, redactor.redact_bytes(block), redactor.redact(block.decode()).encode()):
        assert b"3d4e5" not in output.lower()
        assert output.startswith(b"a\n" + MASK.encode())
        assert output.endswith(b'", and more\n')
