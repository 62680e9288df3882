"""Secrets that are given to a name, and what looks like it in code, logs and diffs. All are made up."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.adapters.processes.redaction import CompileSearch, Redactor
from ralph.domain.text.masking import mask_block, mask_text
from ralph.domain.text.secret_names import MASK
from ralph.domain.text.secret_signs import Find

S = "pA55w0rd-x1"
GIVEN = [
    f"password: {S}",
    f'token :secret => "{S}"',  # the first name is given the second
    f"  db_password:   '{S}'",
    f"aws_secret_access_key = wJalr{S}/K7MDENG",
    f'{{"client_secret": "{S}"}}',
    f'{{"access_token":"{S}","refresh_token":"{S}"}}',
    f'"private_key": "{S}"',
    f"spring.datasource.password={S}",
    f'{{"text":"line\\npassword: {S}\\nnext"}}',
    f'{{"text":"{{\\"api_key\\": \\"{S}\\"}}"}}',
    f"{{'token': '{S}'}}",
    f':secret => "{S}"',
    f'password: str = "{S}"',
    f'const token: string = "{S}";',
    f'apiKey := "{S}"',
    f"<password>{S}</password>",
    f"Server=x;User Id=me;Password={S};",
    f"AccountName=x;AccountKey={S}==",
    f"machine h login me password {S}",
    f"GET /x?token={S}&y=1",
    f"//registry.example/:_authToken={S}",
    f"smtp_pass={S}",
    f"\\nAPI_KEY={S}",
    f"\\n--api-key {S}",
    f"passphrase: {S}",
    f"credentials: {S}",
    f"PASSWORD: {S}",
    f"docker login -u me -p {S} h",
    f"x: 'y'\\ndocker login -u me -p {S} h",
    f"curl -u user:{S} https://h",
    f"send Bearer {S}0123456789",
    f"https://h/path?x=1&X-Amz-Signature=0{S}",
    f"https://h.example/path?token={S}&x=1",
    f"sshpass -p {S} ssh h",
    f"docker run -p 8080:80 image mysql -p{S}",
    f"mysql -u root -p{S} db",
]
PLAIN = [
    "password: str",
    "password: Optional[str] = None",
    "password: string | undefined;",
    "password: SecretStr",
    "def get_token(self) -> str:",
    "token = next(tokens)",
    "token = self.token",
    "token=token2, password=password1)",
    "password: s3_secret_key2",
    '"password": null',
    '"password": "string"',
    '"password": "<your-password>"',
    "password: changeme",
    "password: xxx",
    "password: ${DB_PASSWORD}",
    'token: "{{ csrf_token }}"',
    "api_key=your-api-key",
    "API_KEY=<your-key>",
    "max_tokens: 4096",
    "tokens: 9.2K in",
    '"input_tokens":1000,"output_tokens":1',
    'api_key=os.environ["X"]',
    'API_KEY=os.environ["X"]',
    'token = os.getenv("TOKEN")',
    "secret = settings.SECRET_KEY",
    "secret: base64.b64encode(x1)",
    "PASSWORD_HASHERS = [",
    "secretary: x1y2z3w4",
    "primary_key: 12ab34cd",
    'key = "user:12ab34"',
    '"key": "a1b2c3d4e5"',
    "cache-key: 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "token_type: bearer12",
    "password_hash: 9fceb02d0ae598e9",
    "    token: The token to use.",
    '"password": "Enter your password"',
    '"token": "the"',
    "unexpected token: '}'",
    "private_key: ~/.ssh/id_rsa",
    "private_key: keys/server.pem",
    "secret: !vault x1y2",
    "--- PASS: TestToken1 (0.00s)",
    "if token == 'abc123def':",
    "docker run -p 8080:80 image",
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
    "id: 1d2e3f40-1111-4222-8333-abcdefabcdef",
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk" * 40,
    "Authorization: f'Bearer {token}'",
]


@pytest.mark.parametrize("text", GIVEN)
def test_what_is_given_to_a_secret_name_is_masked_in_texts_and_streams(find: Find | None, text: str) -> None:
    shown = mask_text(text)
    assert S not in shown
    assert MASK in shown
    assert mask_text(shown) == shown
    for around in (text, f"a\n{text}\nb", f"ü {text}", json.dumps({"text": f"x\n{text}\ny"})):
        assert S.encode() not in mask_block(around.encode(), find)
    assert mask_block(text.encode(), find).decode() == shown


@pytest.mark.parametrize(
    "value", ["d664DvaiiX47or72pUFPwD7q", "eDZkeyxYb1YK482nU7N4tB7q", "Tx5TpyPWdKZrC3tZ78LslP7q"]
)
def test_a_made_up_password_with_a_word_of_secrets_in_it_is_no_name_of_a_variable(value: str) -> None:
    assert value not in mask_text(f"password: {value}")


@pytest.mark.parametrize("text", PLAIN)
def test_code_types_numbers_and_placeholders_stay(find: Find | None, text: str) -> None:
    assert mask_text(text) == text
    assert mask_block(text.encode(), find) == text.encode()


def test_words_that_share_a_letter_are_both_seen() -> None:
    assert mask_text(f'secretoken = "{S}"') == f'secretoken = "{MASK}"'


PIECES = st.sampled_from([*GIVEN, *PLAIN, ":", "=", '"', "\\", "token", "password", "\n", "ü", MASK])
TEXTS = st.builds(
    lambda between, pieces: between.join(pieces),
    st.sampled_from([" ", "\n", '","', "\\n"]),
    st.lists(PIECES, max_size=8),
)


@given(TEXTS)
def test_masking_twice_is_masking_once_and_lines_do_not_matter_to_each_other(text: str) -> None:
    shown = mask_text(text)
    assert mask_text(shown) == shown
    assert "\n".join(map(mask_text, text.split("\n"))) == shown
    assert len(shown) <= len(text) * (len(MASK) + 1)


@given(TEXTS, st.lists(st.integers(0, 5000), max_size=12))
def test_a_stream_is_masked_as_a_text_is_however_it_is_cut(
    compile_: CompileSearch, text: str, cuts: list[int]
) -> None:
    block = text.encode()
    places = sorted({0, len(block), *(place % (len(block) + 1) for place in cuts)})
    stream = Redactor(compile_search=compile_).stream()
    pieces = [stream.feed(block[a:b]) for a, b in pairwise(places)]
    shown = b"".join([*pieces, stream.finish()])
    assert S.encode() not in shown


@pytest.mark.parametrize(
    "piece", ["a", "password=", '"', "'", "token: '", 'password="', "key", "\\", "-", "A", "://a:"]
)
def test_a_long_line_of_one_piece_takes_no_time(piece: str) -> None:
    mask_text(piece * (300_000 // len(piece)))
