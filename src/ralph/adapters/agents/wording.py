"""What the sentence of a reported error is about, by families of words: a limit in other words is still one.

Only for what an agent reports as an error, never for what it or its tools say.
"""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final


class Matter(Enum):
    """What an error is about."""

    CONTEXT = auto()  #: the request is longer than the model can take
    LIMIT = auto()  #: used up for a while: waiting helps
    MONEY = auto()  #: used up until somebody pays


_CONTEXT: Final = (
    r"\bcontext (?:window|length|size|limit) (?:is |was |has been )?(?:exceeded|full|reached|too)\b"
    r"|\b(?:exceed\w*|maximum|longer than|larger than|ran out of)\b.{0,40}\bcontext (?:window|length|size|limit)\b"
    r"|\bcontext is too large\b|\bran out of room\b|\b(?:prompt|input|conversation) is too (?:long|large)\b"
    r"|\btoo many (?:input )?tokens\b|\bmaximum (?:context|number of tokens)\b|\bprompt budget\b"
)
_RATE: Final = (
    r"\b(?:usage|rate|session|hourly|daily|weekly|monthly)[ -]limit(?:s|ed)?\b|\btoo many requests\b|\bthrottled\b"
    r"|\bresource[ _](?:has been )?exhausted\b"
)
_ALLOWANCE: Final = (
    r"\b(?:hit|reached|exceeded|used up) your\b.{0,40}\b(?:limits?|quota|allowance)\b"
    r"|(?<!disk )\bquota (?:is |was |has been )?(?:exceeded|exhausted|reached|used up)\b"
)
_UNPAID: Final = (  # whole sentences: whoever works on an invoice writes about money, too
    r"(?:^|[.:!?·,] )(?:"
    r"(?:please )?(?:check your plan and billing|(?:add|buy|purchase) (?:more )?credits?)"
    r"|(?:your )?credit balance is too low|(?:you are|your \w+ is) out of credits?"
    r"|insufficient (?:quota|funds|balance|credits?)|an? payment (?:method )?is (?:missing|required)"
    r"|your \w+ has (?:reached|hit|exceeded) its spend(?:ing)? (?:limit|cap)"
    r"|to use \w+ with your \w+ plan, upgrade to"
    r")\b"
)
_UNPAID_CODE: Final = r"billing|payment|credit|\binsufficient (?:quota|funds|balance)\b"
_RESETS: Final = r"\b(?:try again|retry|resets?) (?:at|in|on|after)\b|\bresets? \d|\bretry-after\b"
_PLACE: Final = r"\S*(?:/|\w\\+\w)\S*|\b[\w-]+\.[a-z]\w{0,4}\b"
"""A path, an address or a file: its name says nothing about the error."""
_HUMP: Final = r"(?<=[a-z])(?=[A-Z])"


def matter_of(message: str, code: str = "") -> Matter | None:
    """None: none of these. ``code`` is the agent's or the service's name for the error; most call every 429 a rate limit."""
    said = re.sub(_PLACE, "…", message)
    named = re.sub(_HUMP, " ", code).replace("_", " ")
    told = f"{named}: {said}"
    if _has(_CONTEXT, told):
        return Matter.CONTEXT
    costs = _has(_UNPAID_CODE, named) or _has(_UNPAID, said)
    is_allowance = _has(_ALLOWANCE, told)
    if _has(_RATE, said) or ((is_allowance or costs) and _has(_RESETS, said)):
        return Matter.LIMIT
    if costs:
        return Matter.MONEY
    return Matter.LIMIT if is_allowance or _has(_RATE, named) else None


def _has(words: str, text: str) -> bool:
    return re.search(words, text, re.IGNORECASE) is not None
