"""Keeps secrets out of logs and screens: their values are replaced wherever they are printed."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache

from ralph.adapters.processes.sign_search import compile_search
from ralph.domain.text.masking import mask_block, mask_text, undecided_length
from ralph.domain.text.secret_cuts import end_of_cut_secret
from ralph.domain.text.secret_names import MASK, is_secret
from ralph.domain.text.secret_signs import ANNOUNCING, SIGNS, Find, Sign, sign_of
from ralph.patterns import pattern
from ralph.values import dataclass

SHORTEST_SECRET = 8
_SHORT = 200
_MOST_KNOWN = 512

_PASSWORD = pattern(r"://[^/?#@:\s]*:([^/?#@\s]+)@")
_HEADER = pattern(r"((?:proxy-)?authorization|x-api-key|cookie)(\s*:\s*).+", re.IGNORECASE | re.DOTALL)


def secrets_in(environment: Mapping[str, str]) -> set[str]:
    """The values of variables whose name looks secret, unless they are evidently something else; passwords in addresses."""
    long = {name: value for name, value in environment.items() if len(value) >= SHORTEST_SECRET}
    passwords = {found[1] for value in long.values() for found in _PASSWORD.finditer(value)}
    return {value for name, value in long.items() if is_secret(name, value)} | {
        password for password in passwords if len(password) >= SHORTEST_SECRET
    }


def redact_argv(argv: Sequence[str]) -> str:
    """A command line as one would type it, with the values of secret-looking flags masked."""
    shown: list[str] = []
    pending = ""  # a secret-looking flag whose value is the next argument
    for argument in argv:
        name, equals, value = argument.partition("=")
        if pending and not argument.startswith("-") and is_secret(pending, argument):
            shown.append(MASK)
        elif equals and is_secret(name, value):
            shown.append(f"{shlex.quote(name)}={MASK}")
        elif header := _HEADER.fullmatch(argument):
            shown.append(shlex.quote(f"{header[1]}{header[2]}{MASK}"))
        else:
            shown.append(shlex.quote(argument))
        pending = argument if argument.startswith("-") and not equals else ""
    return mask_text(" ".join(shown))


CompileSearch = Callable[[Sequence[Sign]], Find | None]


@dataclass(frozen=True, slots=True)
class _Searches:
    """None: there is no quick one."""

    signs: Find | None  #: for signs of secrets
    both: Find | None  #: for those, and for secrets that are known
    announcing: Find | None  #: for words that announce a secret


class Redactor:
    """Replaces the given secrets, and whatever has the shape of one. Other text does not change.

    ``compile_search`` makes a quick search for signs of secrets in blocks, or None.
    """

    def __init__(
        self, secrets: Iterable[str] = (), *, compile_search: CompileSearch = compile_search
    ) -> None:
        forms = {form for secret in secrets if secret for form in _printed_forms(secret)}
        # Longest first: one secret may begin like another.
        texts = sorted(forms, key=lambda form: (-len(form), form))
        self._texts = tuple(texts)
        self._blocks = tuple(text.encode("utf-8", "surrogateescape") for text in texts)
        self._text_pattern = re.compile("|".join(map(re.escape, self._texts)))
        self._compile_search = compile_search
        self._longest = max(map(len, self._blocks), default=0)
        self._block_pattern = re.compile(b"|".join(map(re.escape, self._blocks)))
        # Events and states say the same few words in every iteration.
        self._known = lru_cache(maxsize=_MOST_KNOWN)(self._redact)
        # A prompt is shown, sent and put away.
        self._last_long = lru_cache(maxsize=1)(self._redact)

    def redact(self, text: str) -> str:
        return self._known(text) if len(text) <= _SHORT else self._last_long(text)

    def _redact(self, text: str) -> str:
        # Most text holds no secret, and searching for a literal is many times faster than the pattern.
        if any(secret in text for secret in self._texts):
            text = self._text_pattern.sub(MASK, text)
        return mask_text(text)

    def redact_bytes(self, block: bytes) -> bytes:
        find = self._searches.both
        if find is not None and find(block, 0) < 0:
            return block
        if any(secret in block for secret in self._blocks):
            block = self._block_pattern.sub(MASK.encode(), block)
        return mask_block(block, self._searches.signs)

    @cached_property
    def _searches(self) -> _Searches:
        """Made for the first block: most redactors only see texts."""
        signs = self._compile_search(SIGNS)
        both = self._compile_search((*SIGNS, *map(sign_of, self._blocks))) if signs is not None else None
        return _Searches(signs, both, self._compile_search(ANNOUNCING))

    def stream(self) -> RedactedStream:
        return RedactedStream(self)

    def safe_length(self, block: bytes) -> int:
        """How much of a block can be judged now. The rest may be the beginning of a secret and must wait."""
        held = max((_overlap(block, secret) for secret in self._blocks), default=0)
        held = max(held, undecided_length(block, self._searches.announcing, self.redact_bytes))
        safe = len(block) - held
        if held and safe:
            for found in self._block_pattern.finditer(block, max(0, safe - self._longest)):
                if found.start() >= safe:
                    break
                safe = max(safe, found.end())  # never cut through a whole secret
        return safe


class RedactedStream:
    """Redacts one stream of output, even secrets that are split over chunks.

    Only what may be the beginning of a secret is held back: logs stay live.
    """

    __slots__ = ("_end", "_held", "_redactor")

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        #: While the rest of a secret may come that was too long to be held: what it ends before. It is shown already.
        self._end: re.Pattern[bytes] | None = None

    def feed(self, chunk: bytes) -> bytes:
        block = self._held + chunk if self._held else chunk
        if self._end is not None:
            block = self._after_secret(block, self._end)
        safe = self._redactor.safe_length(block)
        if safe == len(block):
            self._held = b""
            return self._redactor.redact_bytes(block)
        self._held = block[safe:]
        judged = block[:safe]
        shown = self._redactor.redact_bytes(judged)
        if shown is not judged and judged:
            self._end = end_of_cut_secret(judged, shown)
        return shown

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        if self._end is not None:
            held = self._after_secret(held, self._end)
        return self._redactor.redact_bytes(held)

    def _after_secret(self, block: bytes, end: re.Pattern[bytes]) -> bytes:
        found = end.search(block)
        if found is None:
            return b""
        self._end = None
        return block[found.start() :]


def _printed_forms(secret: str) -> Iterable[str]:
    """As it is, as JSON shows it, and line by line if it has several (a private key)."""
    yield secret
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
    if "\n" in secret:
        for line in secret.splitlines():
            if len(line.strip()) >= 2 * SHORTEST_SECRET and not line.startswith("-----"):
                yield line.strip()


def _overlap(block: bytes, secret: bytes) -> int:
    """The length of the longest end of ``block`` that is a proper beginning of ``secret``."""
    first = secret[:1]
    start = max(0, len(block) - len(secret) + 1)
    while (start := block.find(first, start)) >= 0:
        if secret.startswith(block[start:]):
            return len(block) - start
        start += 1
    return 0
