"""Encrypts everything that goes through the server, if a key is given; whoever lacks the key sees that it is encrypted."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from collections.abc import Mapping, Sequence

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    DataConverter,
    DefaultFailureConverter,
    DefaultFailureConverterWithEncodedAttributes,
    PayloadCodec,
)

from ralph.adapters.files import expand_home, read_plain
from ralph.adapters.temporal.payloads import FleetPayloads
from ralph.errors import ConfigError, ServiceRefused
from ralph.values import dataclass

KEY, KEY_FILE = "RALPH_FLEET_KEY", "RALPH_FLEET_KEY_FILE"
PLAIN = "plain"
"""In the place of a key: what is not encrypted is read too. For the time in which a fleet gets its first key."""
KEY_BYTES = 32
ENCODING = b"binary/encrypted"
_SALT, _NONCE = 16, 12
_LARGEST_FILE = 100_000
_HINT = f"a key is {KEY_BYTES} random bytes in base64; make one with `ralph fleet key`"


class Sealed(ServiceRefused):
    """It cannot be read here: it was encrypted with another key, or not at all though it should be."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The first encrypts, all decrypt, so that one can be replaced while jobs run."""

    keys: tuple[bytes, ...] = ()
    reads_plain: bool = True

    def by_id(self) -> dict[str, bytes]:
        return {_id_of(key): key for key in self.keys}


def make_key() -> str:
    return base64.b64encode(os.urandom(KEY_BYTES)).decode()


def read_keys(environment: Mapping[str, str]) -> Keys:
    """One per word; in a file, what follows ``#`` is a comment."""
    given, file = environment.get(KEY, ""), environment.get(KEY_FILE, "")
    if given and file:
        msg = f"{KEY} and {KEY_FILE} are both set"
        raise ConfigError(msg, hint="unset one of them")
    if not given and not file:
        return Keys()
    where = KEY if given else file
    words = (given if given else _read_file(file)).replace(",", " ").split()
    keys = tuple(_parse(word, where) for word in words if word != PLAIN)
    if not keys:
        msg = f"there is no key in {where}"
        raise ConfigError(msg, hint=_HINT)
    return Keys(keys, PLAIN in words)


def converter_of(keys: Keys) -> DataConverter:
    """Messages of failures are text too: with a key they are encrypted like everything else."""
    failures = DefaultFailureConverterWithEncodedAttributes if keys.keys else DefaultFailureConverter
    return DataConverter(
        payload_converter_class=FleetPayloads,
        payload_codec=FleetCodec(keys),
        failure_converter_class=failures,
    )


class FleetCodec(PayloadCodec):
    """AES-256-GCM, under a key of its own for each payload.

    A fleet sends thousands of millions of heartbeats under one key: more than random nonces of 96 bits are good for. So each
    payload's key is derived from ours and 128 random bits.
    """

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._by_id = keys.by_id()

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        if not self._keys.keys:
            return list(payloads)
        return [_encrypt(self._keys.keys[0], payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._decode(payload) for payload in payloads]

    def _decode(self, payload: Payload) -> Payload:
        if payload.metadata.get("encoding") != ENCODING:
            if self._keys.reads_plain:
                return payload
            msg = "not encrypted, though a key is set here"
            raise Sealed(msg, hint=f"to read it all the same, add the word {PLAIN} to {KEY}")
        key_id = payload.metadata.get("encryption-key-id", b"").decode(errors="replace")
        key = self._by_id.get(key_id)
        if key is None:
            msg = f"encrypted with the key {key_id}, which is not set here"
            raise Sealed(msg, hint=f"set {KEY} or {KEY_FILE}")
        return _decrypt(key, payload)


def _encrypt(key: bytes, payload: Payload) -> Payload:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    key_id = _id_of(key).encode()
    head = os.urandom(_SALT + _NONCE)
    salt, nonce = head[:_SALT], head[_SALT:]
    sealed = AESGCM(_derive(key, salt)).encrypt(nonce, payload.SerializeToString(), key_id)
    return Payload(metadata={"encoding": ENCODING, "encryption-key-id": key_id}, data=head + sealed)


def _decrypt(key: bytes, payload: Payload) -> Payload:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    salt, nonce = payload.data[:_SALT], payload.data[_SALT : _SALT + _NONCE]
    try:
        data = AESGCM(_derive(key, salt)).decrypt(nonce, payload.data[_SALT + _NONCE :], _id_of(key).encode())
    except (InvalidTag, ValueError):
        msg = "encrypted, and damaged or changed by somebody without the key"
        raise Sealed(msg) from None
    return Payload.FromString(data)


def _derive(key: bytes, salt: bytes) -> bytes:
    return hmac.digest(key, b"ralph fleet payload" + salt, "sha256")


def _id_of(key: bytes) -> str:
    """Tells keys apart, and says nothing of them."""
    return hashlib.sha256(b"ralph fleet key" + key).hexdigest()[:8]


def _parse(word: str, where: str) -> bytes:
    try:
        key = base64.b64decode(word, validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        msg = f"a word in {where} is not a key"
        raise ConfigError(msg, hint=_HINT)
    return key


def _read_file(name: str) -> str:
    try:
        text = read_plain(expand_home(name), _LARGEST_FILE).decode()
    except (OSError, ValueError) as problem:
        why = problem.strerror if isinstance(problem, OSError) and problem.strerror else "it is no text"
        msg = f"{KEY_FILE}: cannot read {name}: {why}"
        raise ConfigError(msg) from None
    return "\n".join(line.partition("#")[0] for line in text.splitlines())
