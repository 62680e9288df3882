"""What an item of a checklist is called: by the id that it begins with, or by its words."""

from __future__ import annotations

import re
from hashlib import sha256

from ralph.domain.tasks.entry import LONGEST
from ralph.patterns import pattern
from ralph.values import dataclass

LONGEST_SLUG = 40
_PRINT = 6

# An id stands alone (T001, 1.2) or is set off from the words ([ENG-4], **TASK-1**:): "S3 upload" begins with none.
_ID = pattern(
    r"(?P<open>[*_`\[]{0,4})"
    r"(?P<id>T(?:\d{2,6}[a-z]?|X{2,4})|\d{1,4}(?:\.\d{1,4}){1,5}|[A-Za-z]{1,10}-?\d{1,6}(?:\.\d{1,4}){0,4})"
    r"(?P<close>[*_`\]]{0,4}[.):]?[*_`\]]{0,4})(?:[ \t]+(?P<dash>[-–—]+[ \t]+)?|$)"  # noqa: RUF001
)
# 3., 3) or (3): the place in a list, which is another item's as soon as one is put before it.
_ORDINAL = pattern(
    r"(?P<open>[*_`]{0,4})(?:\((?=\d{1,4}\)))?(?P<number>\d{1,4})[.)](?P<close>[*_`]{0,4})(?:[ \t]+|$)"
)
_ALONE = pattern(r"T(?:\d{2,6}[a-z]?|X{2,4})|\d{1,4}(?:\.\d{1,4}){1,5}")
_TAG = pattern(r"\[([A-Za-z]{1,10}\d{0,4})\][ \t]*")
_SPEC_KIT = pattern(r"T(?:\d{2,6}[a-z]?|X{2,4})")
_DOTTED = pattern(r"\d{1,4}(?:\.\d{1,4}){1,5}")


@dataclass(frozen=True, slots=True)
class Named:
    """``key`` is empty if the item has no id. ``tags``: what spec-kit writes behind it, ``P`` and the story.

    ``ordinal``: the number that it has in its list, which is no name.
    """

    key: str
    title: str
    tags: tuple[str, ...] = ()
    ordinal: str = ""


def split_id(words: str) -> Named:
    """``T012 [P] [US1] Create the model`` → T012, with its tags, and what is to be done."""
    found = _ID.match(words)
    if not found:
        return _without_ordinal(words)
    key = found["id"]
    is_set_off = found["close"] or found["dash"]
    if not (_ALONE.fullmatch(key) or is_set_off):
        return Named("", words)
    if found["open"] and not found["close"]:
        return Named("", words)
    rest = words[found.end() :]
    tags: list[str] = []
    while is_spec_kit(key) and (tag := _TAG.match(rest)):
        tags.append(tag[1].upper())
        rest = rest[tag.end() :]
    return Named(key, rest.strip(), tuple(tags))


def _without_ordinal(words: str) -> Named:
    found = _ORDINAL.match(words)
    if not found:
        return Named("", words)
    emphasis = "" if found["close"] else found["open"]  # that of the words, too
    return Named("", f"{emphasis}{words[found.end() :]}".strip(), ordinal=found["number"].lstrip("0"))


def is_spec_kit(key: str) -> bool:
    return _SPEC_KIT.fullmatch(key) is not None


def is_dotted(key: str) -> bool:
    return _DOTTED.fullmatch(key) is not None


def shape_of(key: str) -> str:
    """What ids of one kind have in common: their letters, or that they are numbers with dots. Empty: it is no id."""
    if is_dotted(key):
        return "."
    found = re.fullmatch(r"([A-Za-z]{1,10}-?)\d{1,6}[a-z]?(?:\.\d{1,4}){0,4}", key)
    return found[1].lower() if found else ""


def slug_of(title: str) -> str:
    """Of its words, for an item without an id. One that does not fit ends with a print of all of them."""
    slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    if not slug:
        return f"task-{print_of(title)}"
    if len(slug) <= LONGEST_SLUG:
        return slug
    return f"{slug[:LONGEST_SLUG].rpartition('-')[0] or slug[:LONGEST_SLUG]}-{print_of(title)}"


def full_slug(title: str, group: str) -> str:
    """For items whose words make the same slug. Never counted up: that one would be another when the first is removed."""
    return f"{slug_of(title)}-{print_of(f'{group}/{title.lower()}')}"


def print_of(text: str) -> str:
    return sha256(text.encode(errors="replace")).hexdigest()[:_PRINT]


def task_id_of(stem: str, key: str) -> str:
    """The id of the task of an item in the file or folder ``stem``."""
    stem = _clean(stem) or "tasks"
    key = _clean(key) or print_of(key)
    if len(stem) + 1 + len(key) <= LONGEST:
        return f"{stem}-{key}"
    whole = print_of(f"{stem}-{key}")
    key = key[: LONGEST // 2].rstrip(".-_")
    room = LONGEST - len(key) - len(whole) - 2
    return f"{stem[:room].rstrip('.-_')}-{key}-{whole}"


def _clean(part: str) -> str:
    """A branch is named after it, too."""
    return re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._-]+", "-", part)).strip(".-_").removesuffix(".lock")
