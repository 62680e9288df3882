"""Secrets that are known by where they stand. All are made up."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.processes.redaction import CompileSearch, Redactor
from ralph.domain.text.masking import mask_block, mask_text, mask_values
from ralph.domain.text.secret_names import MASK
from ralph.domain.text.secret_signs import Find

S = "pA55w0rd-x1"
EVERYWHERE = [
    f"postgres://user:{S}@db.example/app",
    f"DATABASE_URL=postgres://:{S}@db.example/app",
    f"redis://default:{S}@h:6379/0",
    f"https://x-access-token:{S}@github.com/o/r.git",
    f"amqp://u:a@{S}@h/v",
    f"mysql://u:a/{S}@h/v",
    f'{{"text":"git clone https://me:{S}@h/r"}}',
    f"https://0123456789abcdef{S}@git.example/r",
    f"Authorization: Bearer {S}",
    f"authorization:Basic {S}==",
    f"curl -H 'Authorization: token {S}' h",
    f'{{"command":"curl -H \\"Authorization: Bearer {S}\\" h"}}',
    f'{{"Authorization": "Bearer {S}"}}',
    f"X-Api-Key: {S}",
    f"PRIVATE-TOKEN: {S}",
    f"private-token: {S}",
    f"x --api-key {S} y",
    f"x --api-key={S} y",
    f"x --token '{S}' y",
    f'x --auth-token="{S}" y',
    f"x --password={S}",
    f"x --db-password {S}",
    f"GITHUB_TOKEN={S} gh pr list",
    f"export API_KEY='{S}'",
    f"PGPASSWORD={S} psql",
    f"https://hooks.slack.com/services/T0/B0/{S}",
]
IN_TEXTS = [
    *EVERYWHERE,
    f"curl -u user:{S} https://h",
    f"curl -s --user 'user:{S}' https://h",
    f"sshpass -p {S} ssh h",
    f"mysql -u root -p{S} db",
    f"https://discord.com/api/webhooks/123/{S}",
    f"https://h.example/path?token={S}&x=1",
    f"https://h.example/path?x=1&api_key={S}",
    f"https://api.telegram.org/bot123:{S}/send",
    f"Cookie: session={S}; other={S}",
    f"send bearer {S}0123456789",
    f"x --client-secret {S}",
    f"x --password 'two words {S}'",
]
PLAIN = [
    "postgres://localhost/db",
    "https://user@host.example/repo.git",
    "ssh://git@github.com/o/r.git",
    "git@github.com:o/r.git",
    "http://localhost:8080/a@b",
    "https://registry.example/@scope/name",
    "postgres://user:$DB_PASSWORD@host/db",
    "postgres://user:${DB_PASSWORD}@host/db",
    "sort -u x:y",
    "docker run -u 1000:1000 image",
    "9fceb02d0ae598e95dc970b74767f19372d61af8",
    "1d2e3f40-1111-4222-8333-abcdefabcdef",
    "use --password instead of --token",
    "--token TOKEN  the token to use",
    "sort --key 2,2 --key=3",
    "x --key-file server.pem --max-tokens 100",
    "TOKEN=$(cat file) x",
    "KEY=$KEY TOKEN=${TOKEN:-} x",
    "KEYBOARD=german PWD=/home/me",
    "the authorization of users: see below",
    "f(key=lambda x: x, token=self.token)",
    "unexpected token: end of file",
    "https://h.example/?page=2&key=7",
    "https://h.example/list?sort_keys=name",
    "cookies are not accepted",
    "make test --keep-going",
    "git commit -m 'Tokens: count them'",
]


@pytest.mark.parametrize("text", IN_TEXTS)
def test_a_secret_is_masked_and_what_is_around_it_stays(text: str) -> None:
    shown = mask_text(text)
    assert S not in shown
    assert MASK in shown
    assert shown[:4] == text[:4]
    assert mask_text(shown) == shown


@pytest.mark.parametrize("text", EVERYWHERE)
def test_a_secret_is_masked_in_streams_too(find: Find | None, text: str) -> None:
    for around in (text, f"a\n{text}\nb", f"ü {text}"):
        assert S.encode() not in mask_block(around.encode(), find)


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_no_secret_stays(find: Find | None, text: str) -> None:
    assert mask_text(text) == text
    assert mask_block(text.encode(), find) == text.encode()


def test_a_masked_command_says_what_it_does() -> None:
    shown = mask_text(f"curl -H 'Authorization: Bearer {S}' https://me:{S}@h/x?a=1 --token={S} -o out")
    masked = (
        "curl -H 'Authorization: Bearer [redacted]' https://me:[redacted]@h/x?a=1 --token=[redacted] -o out"
    )
    assert shown == masked


def test_of_a_notify_address_only_the_host_is_shown() -> None:
    values = {"notify": ["bell", f"https://u:p@h.example:1/{S}?x={S}", f"curl -u a:{S} h"], "hint": "x"}
    masked = {"notify": ["bell", f"https://h.example:1/{MASK}", f"curl -u a:{MASK} h"], "hint": "x"}
    assert mask_values(values) == masked


PIECES = st.sampled_from([*EVERYWHERE, *PLAIN, ":", "/", "-", "@", "KEY", "x", "\n"])
TEXTS = st.builds(
    lambda between, pieces: between.join(pieces),
    st.sampled_from([" ", "\n", '","']),
    st.lists(PIECES, max_size=8),
)


@given(TEXTS, st.lists(st.integers(0, 5000), max_size=12))
def test_no_cut_of_a_stream_shows_a_secret(compile_: CompileSearch, text: str, cuts: list[int]) -> None:
    block = text.encode()
    places = sorted({0, len(block), *(place % (len(block) + 1) for place in cuts)})
    stream = Redactor(compile_search=compile_).stream()
    pieces = [stream.feed(block[a:b]) for a, b in pairwise(places)]
    shown = b"".join([*pieces, stream.finish()])
    assert S.encode() not in shown


@given(st.sampled_from(IN_TEXTS), st.text(alphabet=" \n'\"-=:/@x", max_size=60))
def test_masking_takes_no_more_than_a_moment(text: str, around: str) -> None:
    mask_text((around + text) * 50)


def test_a_long_text_of_beginnings_takes_no_time() -> None:
    for beginning in ("://", "://a:", "curl ", "--token ", "authorization", "http -a ", "KEY=", "mysql "):
        mask_text(beginning * 20_000)
