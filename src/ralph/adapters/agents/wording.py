"""What the sentence of a reported error is about, by families of words: a limit that is worded anew is still one.

Only for what an agent reports as an error, never for what it or its tools say.
"""

from __future__ import annotations

import re
from enum import Enum, auto


class Matter(Enum):
    """What an error is about."""

    CONTEXT = auto()  #: the request is longer than the model can take
    LIMIT = auto()  #: used up for a while: waiting helps
    MONEY = auto()  #: used up until somebody pays


_CONTEXT = re.compile(
    r"\bcontext (?:window|length|size|limit)\b|\bcontext is too large\b|\bran out of room\b"
    r"|\b(?:prompt|input|conversation) is too (?:long|large)\b|\btoo many (?:input )?tokens\b"
    r"|\bmaximum (?:context|number of tokens)\b|\bprompt budget\b",
    re.IGNORECASE,
)
_RATE = re.compile(
    r"\b(?:usage|rate|session|hourly|daily|weekly|monthly)[ -]limit|\btoo many requests\b|\bthrottl",
    re.IGNORECASE,
)
_MONEY = re.compile(
    r"\bbilling\b|\bcredits?\b|\binsufficient (?:quota|funds|balance)\b|\bpayment\b|\bspend(?:ing)? (?:limit|cap)\b"
    r"|\bupgrade (?:to|your)\b",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\bquota\b|\ballowance\b|\blimits? (?:was |has been |is )?(?:reached|exceeded|hit)\b"
    r"|\b(?:hit|reached|exceeded|used up) (?:your|the|its)\b.{0,40}\blimits?\b",
    re.IGNORECASE,
)
_RESETS = re.compile(r"\btry again (?:at|in|on)\b|\bresets? (?:at|in|on)\b|\bretry after\b", re.IGNORECASE)


def matter_of(message: str, code: str = "") -> Matter | None:
    """None: none of these. ``code`` is the agent's or the service's name for the error; most call every 429 a rate limit."""
    told = f"{code.replace('_', ' ')}: {message}"
    if _CONTEXT.search(told):
        return Matter.CONTEXT
    is_limit, costs = _LIMIT.search(told), _MONEY.search(told)
    if _RATE.search(message) or ((is_limit or costs) and _RESETS.search(message)):
        return Matter.LIMIT
    if costs:
        return Matter.MONEY
    return Matter.LIMIT if is_limit or _RATE.search(told) else None
