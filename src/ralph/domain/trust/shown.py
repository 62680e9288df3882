"""How the question of trust shows a value: secrets masked, but nothing that could run. What is hidden could be what matters."""

from __future__ import annotations

import re
from collections.abc import Mapping

from ralph.domain.text.masking import mask_text
from ralph.domain.text.safe_text import reveal
from ralph.domain.text.secret_names import MASK, looks_secret
from ralph.domain.trust.demand import Demand
from ralph.patterns import pattern

_SYNTAX = "$`;&|<>(){}'\"\\ \t\r\n"
"""Of a shell: a token has none of it."""
_BETWEEN_COMMANDS = pattern(r"[;&|()`\n]+")
_ASSIGNED = pattern(r"(?:^|\s)[A-Za-z_][A-Za-z0-9_]*=\S*" + re.escape(MASK))
_TOKEN = pattern(r"(?=\S*[0-9])[A-Za-z0-9_+-]{16,}=*")


def describe(demand: Demand) -> str:
    """``runs make test``, as one line."""
    return demand.says or reveal(f"{demand.means} {shown(demand.value)}").rstrip()


def shown(value: object) -> str:
    """On one line, if it has no line breaks itself."""
    if isinstance(value, str):
        return _shown_command(value)
    if isinstance(value, bool):
        return ""  # the words before it say which
    if isinstance(value, list):
        return ", ".join(map(shown, value)) or "nothing"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}={_shown_variable(name, one)}" for name, one in value.items()) or "nothing"
    return "nothing" if value is None else str(value)


def _shown_command(text: str) -> str:
    """As it is, if the mask would cover syntax, a program, or what a variable stands for."""
    masked = mask_text(text)
    is_syntax = sum(map(masked.count, _SYNTAX)) != sum(map(text.count, _SYNTAX))
    programs = (part.split(maxsplit=1)[:1] for part in _BETWEEN_COMMANDS.split(masked))
    is_program = any(MASK in word for words in programs for word in words)
    return text if is_syntax or is_program or _ASSIGNED.search(masked) else masked


def _shown_variable(name: str, value: object) -> str:
    """A command may use it as a program, or git as a setting: only what can be neither is masked."""
    if not isinstance(value, str):
        return shown(value)
    return MASK if _TOKEN.fullmatch(value) and (looks_secret(name) or mask_text(value) == MASK) else value
