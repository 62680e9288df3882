"""Where a stream may be cut: only where nothing that the mask would take is on both sides, however the stream goes on.

A secret without a word that announces it is one word. Any other begins with such a word, and is over when its line is.
A line that is too long to wait for is cut at a break, and the mask itself is asked whether that changes anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ralph.domain.text.secret_assignments import OPENING
from ralph.domain.text.secret_names import MASK
from ralph.domain.text.secret_shapes import ANCHORS, KEY_ENDS, is_key_open, undecided_key
from ralph.domain.text.secret_signs import ANNOUNCING, FOLDED, Find, Sign
from ralph.patterns import pattern

Mask = Callable[[bytes], bytes]

# With letters of any language, and with what a rule looks back at, such as the escape of a new line.
_OF_WORDS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-:/.\\" + bytes(
    range(0x80, 0x100)
)
_OF_FEW_SHAPES = b"+="  # often the last of a block, which then costs a copy of that
_ANCHORS = (b"eyJ", *(anchor.encode() for anchor in ANCHORS))
_OPENINGS = tuple(word.encode() for word in OPENING)

_QUICK = 8 * 1024
"""Within this of its end, a line that is no secret by then has a word that announces one, or none is open."""
_LONGEST_HELD = 16 * 1024
_MARGIN = 8 * 1024
"""More than any secret that has blanks, quotes or escapes in it, and than what a rule looks back at: a secret that began this
long ago is known for one."""
_LONGEST_KEY = 7 * 1024
_MOST_TRIED = 4

_LINE_ENDS = pattern(rb"(?<!\\)\\[nrt]")  # as JSON has them; a backslash before it makes it something else
_INNER_LINE_ENDS = pattern(rb"(?<!\\)\\{2,}[nrt]")  # of JSON in JSON
_BREAKS = pattern(rb"[\s\"'`<>]")
_MARKS = pattern(rb"[,;&|(){}\[\]\\]")
_END = pattern(rb"[\s\"'`<>\\]")
_END_OF_QUOTED = pattern(rb"[\r\n\"'\\]")
_BEFORE_BLANKS = pattern(rb"(?:[\"']|(?i:cookie)\\{0,6}[\"']?[ \t]*:[ \t]*)\Z")
_END_OF_KEY = pattern(rb"[^A-Za-z0-9+/=\s\\]")
_GAP_AT_END = pattern(rb"(?:\s|\\[nrt])+\Z")
_LONGEST_OPENING = 64
_SHORTEST_CUT = 1024


def undecided_end(block: bytes, find_announcing: Find | None, mask: Mask) -> int:
    """Of a private key that is too long to be held a part is judged: its lines tell what it is."""
    key = undecided_key(block)
    if key > _LONGEST_KEY:
        return _settle(block, (_QUICK // 2, _QUICK // 4), mask)
    return max(key, _undecided_line(block, find_announcing, mask))


def _undecided_line(block: bytes, find_announcing: Find | None, mask: Mask) -> int:
    """From the first word that may announce a secret; else the last word, which may become one."""
    find = find_announcing or find_announcing_slowly
    line, is_whole = _last_line(block, _QUICK)
    undecided, is_announced = _undecided(line, find)
    if is_whole or (undecided < len(line) and not is_announced):
        return undecided
    if not is_announced:
        return _settle(block, (_QUICK, _QUICK // 2), mask)
    if is_key_open(block[-_LONGEST_HELD - _MARGIN :]):
        return _settle(block, (_QUICK, _QUICK // 2), mask)
    undecided, _ = _undecided(_last_line(block, _LONGEST_HELD + _MARGIN)[0], find)
    return undecided if undecided <= _LONGEST_HELD else _settle(block, (_LONGEST_HELD, _MARGIN), mask)


def _last_line(block: bytes, longest: int) -> tuple[bytes, bool]:
    """As much of it as there may be, and whether that is all: what was cut off before does not matter."""
    window = block[-longest:]
    start = max(window.rfind(b"\n"), window.rfind(b"\r")) + 1
    key = window.rfind(KEY_ENDS, start)
    start = key + len(KEY_ENDS) if key >= 0 else start
    return window[start:], start > 0 or len(block) <= longest


def _undecided(line: bytes, find: Find) -> tuple[int, bool]:
    """How much, and whether a word announces that."""
    if not line:
        return 0, False
    announced = find(line, 0)
    if announced >= 0:
        return len(line) - announced + _last_word(line[:announced]), True
    undecided = _last_word(line)
    is_over = line.endswith(b".") and not _may_go_on(line[len(line) - undecided :])
    return 0 if is_over else undecided, False


def _last_word(line: bytes) -> int:
    """Its length, with the beginning of a colour before it."""
    length = len(line) - len(line.rstrip(_OF_WORDS))
    before = _byte_before(line, length)
    if before and before in _OF_FEW_SHAPES:
        longer = len(line) - len(line.rstrip(_OF_WORDS + _OF_FEW_SHAPES))
        if not _has_anchor(line[-longer:]):
            return length
        length, before = longer, _byte_before(line, longer)
    if before == b"[" or (before == b";" and (length or line[-2:-1].isdigit())):
        return length + 1
    return length


def _byte_before(line: bytes, length: int) -> bytes:
    return line[-length - 1 :][:1] if length < len(line) else b""


def _has_anchor(word: bytes) -> bool:
    return any(anchor in word for anchor in _ANCHORS)


def _may_go_on(word: bytes) -> bool:
    """After a dot."""
    return _has_anchor(word) or word.rstrip(b"_-.").lower().endswith(_OPENINGS)


def _settle(block: bytes, held: tuple[int, int], mask: Mask) -> int:
    """At most and at least so much is held of a line that is too long to wait for."""
    most, least = held
    start = max(0, len(block) - most - _MARGIN)
    window = block[start:]
    places = list(_places(window, max(0, len(window) - most), len(window) - least))
    whole = mask(window)
    for place in places:
        if mask(window[:place]) + mask(window[place:]) == whole:
            return len(window) - place
    return len(window) - places[0]


def _places(window: bytes, low: int, high: int) -> Iterator[int]:
    """The best first: the ends of lines, then other breaks, then anywhere."""
    for breaks in (_LINE_ENDS, _INNER_LINE_ENDS, _BREAKS, _MARKS):
        found = [each.start() for each in breaks.finditer(window, low, high)]
        yield from reversed(found[-_MOST_TRIED:])
    yield from (high, (low + high) // 2, low + 1)


def end_of_cut_secret(judged: bytes, shown: bytes) -> re.Pattern[bytes] | None:
    """If a secret reaches to the end of what was judged, the rest of it may follow: what it ends before."""
    mask = MASK.encode()
    if is_key_open(judged) and _GAP_AT_END.sub(b"", shown[-_LONGEST_OPENING:]).endswith(mask):
        return _END_OF_KEY
    if not shown.endswith(mask) or judged.endswith(mask):
        return None
    before = shown[-_LONGEST_OPENING - len(mask) : -len(mask)]
    end = _END_OF_QUOTED if judged[-1:].isspace() or _BEFORE_BLANKS.search(before) else _END
    # Anything shorter was held as a whole, and what follows is something else.
    is_long = len(judged) >= _SHORTEST_CUT and end.search(judged, len(judged) - _SHORTEST_CUT) is None
    return end if is_long else None


# --- without the compiled search ---

_FOLD = bytes.maketrans(
    "".join(FOLDED).encode("latin-1"),
    "".join(FOLDED.values()).encode("latin-1"),
)


def find_announcing_slowly(line: bytes, start: int) -> int:
    folded = line.translate(_FOLD)
    first = -1
    for sign in ANNOUNCING:
        text, literal = line if sign.is_exact else folded, sign.literal.encode("latin-1")
        end = first + len(literal) - 1 if first >= 0 else len(line)
        place = text.find(literal, start, end)
        while place >= 0 and not _is_led(line, sign, start, place):
            place = text.find(literal, place + 1, end)
        first = place if place >= 0 else first
    return first


def _is_led(line: bytes, sign: Sign, start: int, place: int) -> bool:
    """By one of ``stop``, as the compiled search has it."""
    if not sign.stop:
        return True
    stop, before = sign.stop.encode("latin-1"), sign.before.encode("latin-1")
    led = line[max(start, place - sign.within - 1) : place]
    rest = led.rstrip(bytes(code for code in before if code not in stop))
    return rest[-1:] in stop if rest else len(led) > sign.within
