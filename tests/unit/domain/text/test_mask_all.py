"""Every text in an event or a state is masked, and nothing else becomes another."""

from __future__ import annotations

from enum import StrEnum

import pytest

from ralph.domain.text.masking import mask_all
from ralph.values import dataclass, field


class Word(StrEnum):
    SECRET = "secret"


@dataclass(frozen=True, slots=True)
class Note:
    text: str = ""
    number: int = 0
    words: tuple[str, ...] = ()
    named: dict[str, str] = field(default_factory=dict)
    word: Word = Word.SECRET
    inner: Note | None = None


def hide(text: str) -> str:
    return "".join(["***" if part == "secret" else part for part in text.split("|")])  # never the same object


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (Note("secret"), Note("***")),
        (Note(words=("a", "secret")), Note(words=("a", "***"))),
        (Note(named={"a": "secret"}), Note(named={"a": "***"})),
        (Note(inner=Note(inner=Note("secret", 3))), Note(inner=Note(inner=Note("***", 3)))),
        ((Note(), Note("secret")), (Note(), Note("***"))),
        ([["secret"]], [["***"]]),
        ("", ""),
        (None, None),
    ],
)
def test_a_secret_is_found_wherever_it_is(value: object, masked: object) -> None:
    assert mask_all(value, hide) == masked


def test_what_holds_no_secret_stays_the_very_same_also_if_its_texts_are_made_again() -> None:
    value = (Note("plain", words=("a", "b"), named={"c": "d"}, inner=Note("e")), ["f"])

    assert mask_all(value, hide) is value


def test_a_word_of_ours_is_no_secret() -> None:
    assert mask_all(Note(), hide).word is Word.SECRET
