"""The user's git settings as a sandboxed agent may see them: who commits and how, but no password or token."""

from __future__ import annotations

import re

from ralph.domain.text.masking import mask_text
from ralph.domain.text.secret_names import looks_secret
from ralph.patterns import pattern

_LINE = pattern(r"(?:[^\\\n]|\\(?:.|\n|$))*(?:\n|$)")  # one that ends with a backslash continues
_ENTRY = pattern(r"\s*(?:\[[^\n]*\]\s*)?([A-Za-z][\w-]*)\s*=\s*(.*)", re.DOTALL)
_SECRET_KEYS = frozenset({"extraheader", "pass", "smtppass"})
_PLAIN_KEYS = frozenset({"signingkey", "sslkey"})  # they only name one
_SECRET_VALUE = pattern(r"passw(?:or)?d=|sshpass\b|authorization:", re.IGNORECASE)
_IN_WEB_ADDRESS = pattern(r"(?<=://)[^/\s\"]*@(?=[^/\s\"]*)")
_KEEPS_USER = pattern(r"[\w.-]+@")


def without_secrets(text: str) -> str:
    """The same settings without entries that are secrets, and without passwords in addresses."""
    lines = (match[0] for match in _LINE.finditer(text))
    return mask_text("".join(_without_passwords(line) for line in lines if not _is_secret(line)))


def _is_secret(line: str) -> bool:
    entry = _ENTRY.match(line)
    if entry is None:
        return False
    key, value = entry[1].lower(), entry[2]
    if key in _PLAIN_KEYS:
        return False
    return looks_secret(entry[1]) or key in _SECRET_KEYS or _SECRET_VALUE.search(value) is not None


def _without_passwords(line: str) -> str:
    """``ssh://git@host`` names a user; a user's name in a web address may be a token."""
    if "http://" in line or "https://" in line:
        return _IN_WEB_ADDRESS.sub("", line)
    return _IN_WEB_ADDRESS.sub(lambda found: found[0] if _KEEPS_USER.fullmatch(found[0]) else "", line)
