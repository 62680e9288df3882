"""Which repository the address of a git remote means."""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from ralph.patterns import pattern
from ralph.values import dataclass

_SCHEMES = frozenset({"https", "http", "ssh", "git", "git+ssh", "ssh+git"})
_SHORT = pattern(r"(?:[^@/:]+@)?([^/:@\s]+):(?!//|:)(.+)")
"""As scp writes it: ``git@host:owner/name``."""
_PART = pattern(r"[A-Za-z0-9._-]+")
_ALIASES = {"ssh.github.com": "github.com", "www.github.com": "github.com"}


@dataclass(frozen=True, slots=True)
class RemoteAddress:
    """``host`` empty: a folder. ``path``: of the repository there, without credentials, port or ``.git``."""

    host: str
    path: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        """Empty unless each is a plain name."""
        found = tuple(self.path.split("/"))
        is_plain = all(_PART.fullmatch(part) and part.strip(".") for part in found)
        return found if is_plain else ()


def read_address(text: str) -> RemoteAddress:
    """Never raises, and keeps no credentials: whatever is not understood has no host."""
    text = text.strip()
    try:
        parts = urlsplit(text)
        if parts.scheme in _SCHEMES and "://" in text:
            return _address(parts.hostname or "", unquote(parts.path))
    except ValueError:
        return RemoteAddress("")
    found = None if "://" in text else _SHORT.fullmatch(text)
    is_drive = found is not None and len(found[1]) == 1
    return RemoteAddress("") if found is None or is_drive else _address(found[1], found[2])


def _address(host: str, path: str) -> RemoteAddress:
    host = host.lower().rstrip(".")
    return RemoteAddress(_ALIASES.get(host, host), path.strip("/").removesuffix(".git").strip("/"))
