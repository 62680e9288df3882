"""The compiled search. That it serves as well as the one in Python is tested with the rules (``tests/unit/domain/text``)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph.adapters.processes.redaction import Redactor
from ralph.adapters.processes.sign_search import LIBRARY, compile_search
from ralph.domain.text.masking import mask_block, mask_text, undecided_length
from ralph.domain.text.secret_names import MASK
from ralph.domain.text.secret_signs import ANNOUNCING, SIGNS, Find, Sign

pytestmark = pytest.mark.skipif(
    compile_search(SIGNS) is None, reason="it was not built here: there was no C compiler"
)

S = "pA55w0rd-x1"
SECRETS = [
    f"token_1: {S}",
    f"x --secret {S}",
    f"x --auth={S}",
    f"x --githubSkyToken {S}",
    f"\\n--cookie {S} key",
    f"NPM_AUTH={S}",
    f"GH_PAT={S}",
    f"https://h/?sig={S}",
    f"https://h/?a=1\\u0026code={S}",
    f"https://h/x?b;my%2E.token-id={S}",
    f"://h.example:80/hooks/{16 * 'a'}",
    f"https://discord.com/api/webhooks/1/{S}",
    f"https://ntfy.sh/{S}",
    f"http -a me:{S} h",
    f"xh --auth me:{S} h",
    f'"/usr/bin/xh" -a me:{S} http://h',
    f"unzip -P {S} x.zip",
    f"redis-cli -h h -a {S}",
    f"ldapsearch -x -w {S}",
    f"docker login\t-u me -p {S}",
    f"login me password {S}",
    f"Bearer\t{S}{S}",
    f"a__api..key\\\\\"] \t= '{S}'",
    f"<password>{S}</password>",
    "AKIA" + "ABCDEFGHIJKLMNOP",
    f"curl -d '{250 * 'ж'}' -u me:{S}",
    f'Authorization{63 * chr(92)}": Basic {S}{S}',
    f"token٣: {S}",
]
WORDS = [sign.literal for sign in SIGNS] + [sign.then for sign in SIGNS]
PIECES = st.sampled_from(
    [
        *SECRETS,
        *WORDS,
        *map(str.upper, WORDS),
        S,
        "https://h/p",
        "?",
        "&",
        "-",
        "--",
        "=",
        ": ",
        '"',
        "\\n",
        "\n",
        "\0",
        "ü",
        " ",
        250 * "é",  # more bytes than characters
        45 * "\\",
        400 * "a",
        "٣",
        "\u017f",
    ]
)
TEXTS = st.lists(PIECES, max_size=8).map("".join)


@pytest.fixture(scope="module")
def find() -> Find:
    search = compile_search(SIGNS)
    assert search is not None
    return search


def masked_by_definition(text: str) -> bytes:
    return "\n".join(map(mask_text, text.split("\n"))).encode()


@pytest.mark.parametrize("text", SECRETS)
def test_whatever_is_masked_in_a_text_is_masked_in_a_block(find: Find, text: str) -> None:
    assert mask_text(text) != text
    for around in (text, f"a\n{text}\nb", f"ü {text}", "x" * 999 + " " + text, "y" * 1000 + " " + text):
        assert mask_block(around.encode(), find) == masked_by_definition(around)


@given(TEXTS)
@example("")
def test_no_line_that_would_be_masked_is_passed_over(find: Find, text: str) -> None:
    if "PRIVATE KEY" not in text:
        assert mask_block(text.encode(), find) == masked_by_definition(text)


@given(TEXTS, st.binary(max_size=20), st.booleans())
def test_other_bytes_around_a_sign_do_not_hide_it(
    find: Find, text: str, other: bytes, is_before: bool
) -> None:
    block = other + b"\n" + text.encode() if is_before else text.encode() + b"\n" + other
    assert (find(text.encode(), 0) < 0) <= (find(block, 0) < 0) or find(other, 0) >= 0


@given(TEXTS)
def test_as_much_is_undecided_as_without_it(text: str) -> None:
    block = text.encode()
    assert undecided_length(block, compile_search(ANNOUNCING)) == undecided_length(block)


@given(TEXTS, st.lists(st.sampled_from(["secret-a", "aab", "x\xff\0\n", "0123456789abcdef" * 3]), min_size=1))
def test_known_secrets_are_found_in_the_same_pass(text: str, secrets: list[str]) -> None:
    block = (text + secrets[0] + text).encode()
    shown = Redactor(secrets).redact_bytes(block)
    assert secrets[0].encode() not in shown
    assert shown == Redactor(secrets, compile_search=_signs_only).redact_bytes(block)


def _signs_only(signs: Sequence[Sign]) -> Find | None:
    return compile_search(signs) if signs in (SIGNS, ANNOUNCING) else None


def test_secrets_that_it_cannot_search_for_are_masked_all_the_same() -> None:
    many = [f"{number:05}" for number in range(2000)]
    for secrets in (["ab"], many):
        assert Redactor(secrets).redact_bytes(f"<{secrets[-1]}>".encode()) == f"<{MASK}>".encode()


@pytest.mark.parametrize("size", range(4))
def test_a_block_shorter_than_any_sign_has_none(find: Find, size: int) -> None:
    assert find(b"ke\xff"[:size], 0) == -1
    assert mask_block(b"ke\xff"[:size], find) == b"ke\xff"[:size]


def test_the_first_sign_is_found_wherever_it_begins_and_none_before_the_start(find: Find) -> None:
    for before in range(9):
        block = b"." * before + b"token: x\n"
        assert find(block, 0) == before
        assert find(block, before) == before
        assert find(block, before + 1) == -1


@pytest.mark.parametrize("block", [b"tokens", b"the key", b"max_tokens: 5", b"path=/x", b"https://h/p?x=1"])
def test_words_that_only_resemble_a_sign_are_none(find: Find, block: bytes) -> None:
    assert find(block, 0) == -1


@pytest.mark.parametrize(
    "piece", [b"://", b"token", b"-token", b"curl ", b"key", b"_-", b"?a", b"TOKEN_", b"http "]
)
def test_a_long_line_of_beginnings_takes_no_time(find: Find, piece: bytes) -> None:
    find(piece * (3_000_000 // len(piece)), 0)


LOAD = """
import sys
from pathlib import Path
from ralph.adapters.processes import sign_search
from ralph.domain.text.secret_signs import SIGNS
sign_search.LIBRARY = Path(sys.argv[1])
find = sign_search.compile_search(SIGNS)
"""


def loaded(library: Path, then: str) -> None:
    subprocess.run([sys.executable, "-c", LOAD + then, library], check=True)


@pytest.mark.parametrize("size", [0, 4, 63, 64, 2000, 5000, 9000, -1])
def test_a_truncated_library_is_none(size: int, tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(LIBRARY.read_bytes()[:size])
    loaded(library, "assert find is None")


def test_a_library_that_is_missing_or_for_another_machine_is_none(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    loaded(library, "assert find is None")
    code = bytearray(LIBRARY.read_bytes())
    code[18:20] = b"\xff\xff"
    library.write_bytes(code)
    loaded(library, "assert find is None")


@pytest.mark.parametrize("source", ["int x;", "int format(void) { return 1; }"])
def test_a_library_of_somebody_else_is_none(source: str, tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    words = ["cc", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"]
    subprocess.run(words, input=source.encode(), check=True)
    loaded(library, "assert find is None")


def test_what_is_written_into_the_file_afterwards_does_not_matter(tmp_path: Path) -> None:
    library = tmp_path / "library.so"
    library.write_bytes(LIBRARY.read_bytes())
    loaded(
        library,
        """
with sign_search.LIBRARY.open("r+b") as file:
    file.write(bytes(sign_search.LIBRARY.stat().st_size))
assert find(b"a token: b", 0) == 2
""",
    )
