"""Secrets recognised by where they stand: in an address, a header, an option or a variable of a command.

Whatever a program would take for a password there is masked, and nothing around it: one still sees what was called.
A reference such as ``$PASSWORD`` is no secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ralph.domain.text.secret_names import MASK, Secrecy, is_secret, secrecy
from ralph.domain.text.secret_values import is_code, is_reference

# Texts, compiled when they are first needed: most runs need none of them.
_ADDRESS = r"://(?:[^\s'\"<>\\`]|\\u0026)+"
_ACCESS = r"://(?P<user>[^/?#@:]*)(?::(?P<password>[^/?#]+|(?!\d{1,5}[/?#])[^@]+))?@"
_PARAMETER = r"(?P<before>(?:[?&#;]|\\u0026)(?P<name>[\w.%-]+)=)(?P<value>[^&#;\\]+)"
_SIGNATURES = ("sig", "signature", "code", "x-amz-signature", "x-goog-signature")
_WEBHOOK = (
    r"://(?:hooks\.slack(?:-gov)?\.com/|[\w.]*discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot|hc-ping\.com/"
    r"|hooks\.zapier\.com/hooks/|maker\.ifttt\.com/|ntfy\.sh/|[\w.-]*webhook\.office\.com/|[\w.:-]+/hooks/(?=\w{16}))"
)
_GAP = r"[ \t]{0,20}"
# What stands before an option or a variable is looked at after its first character, because a pattern that begins with one
# is searched for many times as fast. A new line may be written as \n.
_AT_START = r"(?:(?<![\w-].)|(?<=\\[nrt].))"
_QUOTED = r"\\*\"[^\"\\\r\n]*|\\*'[^'\\\r\n]*"
_HEADER_NAME = r"-(?:token|secret|(?:access|auth|subscription)-key)|api-?key"
_HEADER = (
    rf"(?i)(?P<before>(?:a?uthorization\\*[\"']?{_GAP}[:=]|(?:{_HEADER_NAME})\\*[\"']?{_GAP}:(?!=)){_GAP}\\*[\"']?"
    r"(?:(?:bearer|basic|digest|token|negotiate|apikey)[ \t]+)?)(?P<value>[^\s'\"\\,]+)"
)
_COOKIE = rf"(?i)(?P<before>\bcookie\\*[\"']?{_GAP}:{_GAP}\\*[\"']?)(?P<value>[^'\"\\\r\n]+)"
_BEARER = r"(?i)(?P<before>(?:\b|(?<=\\[nrt]))bearer[ \t]+)(?P<value>(?=[^\s'\"]{0,400}\d)[\w.~+/-]{16,}=*)"
_OPTION = (
    rf"(?P<before>-{_AT_START}-?(?P<name>[A-Za-z][\w-]*)(?P<gap>=|[ \t]+(?!-)))"
    rf"(?P<value>{_QUOTED}|[^\s'\"\\]+)"
)
_VARIABLE = rf"(?P<before>(?P<name>[A-Z_]{_AT_START}[A-Z0-9_]+)=)(?P<value>{_QUOTED}|[^\s'\"\\;&|()\[\]]+)"
_HARMLESS = "file path dir folder env name type id length count size limit field column mode".split()  # noqa: SIM905
_LONG_USER = 20

# What one rule needs is near its secret: of a stream a mask sees only a part.
_BEARING = "key token passw passp secret credential cookie bearer auth pwd pass= pat= pat_ -pat _pat"
_BEARING_NAMES = (*(f(word) for word in _BEARING.split() for f in (str, str.upper, str.capitalize)), "Pat")

_HEADERS = ("uthorization", "-key", "-token", "-secret", "apikey", "api-key")
_VARIABLES = tuple(word.upper() for word in _BEARING.split())


def mask_places(text: str) -> str:
    """The quick tests are for literals: nearly every text has none of them."""
    if "earer" in text or "EARER" in text:
        text = _mask(_BEARER, text)
    has_colon, has_dash, has_equals = ":" in text, "-" in text, "=" in text
    if has_colon and "://" in text:
        text = re.sub(_ADDRESS, _mask_in_address, text)
    if (has_colon or has_dash or has_equals) and any(name in text for name in _BEARING_NAMES):
        text = _mask_named(text)
    if has_colon and ("ookie" in text or "COOKIE" in text):
        text = _mask(_COOKIE, text)
    return text


def mask_address(address: str) -> str:
    """Of an address that is a secret as a whole, such as a webhook's: only where it leads."""
    scheme, separator, rest = address.partition("://")
    host = re.split(r"[/?#]", rest.rpartition("@")[2] if "@" in rest.split("/", 1)[0] else rest, maxsplit=1)[
        0
    ]
    return f"{scheme}{separator}{host}/{MASK}"


def _mask_named(text: str) -> str:
    lower = text.lower()
    if any(name in lower for name in _HEADERS):
        text = _mask(
            _HEADER, text, lambda found: not found["value"].isalpha() and not is_code(found["value"])
        )
    if "-" in text:
        text = _mask(_OPTION, text, _is_given_by_option)
    if "=" in text and any(name in text for name in _VARIABLES):
        text = _mask(_VARIABLE, text, _is_given_by_variable)
    return text


def _mask(pattern: str, text: str, is_meant: Callable[[re.Match[str]], bool] | None = None) -> str:
    def replace(found: re.Match[str]) -> str:
        value = found["value"]
        bare = value.lstrip("\\").lstrip("'\"")
        if is_reference(bare) or (is_meant is not None and not is_meant(found)):
            return found[0]
        if found.string.startswith(("(", "["), found.end()):  # a call, or an element of something
            return found[0]
        return found["before"] + value[: len(value) - len(bare)] + MASK

    return re.sub(pattern, replace, text)


def _is_given_by_option(found: re.Match[str]) -> bool:
    name, value = found["name"], found["value"].lstrip("\\").lstrip("'\"")
    if re.split(r"[-_]", name.lower())[-1] in _HARMLESS or not is_secret(name, value):
        return False
    # "--password instead" is prose, and "--token TOKEN" is a manual.
    return (
        found["gap"] == "="
        or not value.isalpha()
        or value != found["value"]
        or not (value.islower() or value.isupper())
    )


def _is_given_by_variable(found: re.Match[str]) -> bool:
    name, value = found["name"], found["value"].lstrip("\\").lstrip("'\"")
    return (
        name.lower().split("_")[-1] not in _HARMLESS
        and is_secret(name, value)
        and not is_code(found["value"])
    )


def _mask_in_address(found: re.Match[str]) -> str:
    address = found[0]
    if hook := re.match(_WEBHOOK, address):
        return hook[0] + MASK if len(hook[0]) < len(address) else address
    if access := re.match(_ACCESS, address):
        address = "://" + _mask_access(access) + "@" + address[access.end() :]
    return re.sub(_PARAMETER, _mask_parameter, address) if "=" in address else address


def _mask_access(access: re.Match[str]) -> str:
    """A name may stay, unless it is a token: nobody's is that long and has a figure in it."""
    user, password = access["user"], access["password"]
    if len(user) >= _LONG_USER and any(map(str.isdigit, user)):
        user = MASK
    if password is None:
        return user
    return f"{user}:{password if is_reference(password) else MASK}"


def _mask_parameter(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if secrecy(name) < Secrecy.LIKELY and name.lower() not in _SIGNATURES:
        return found[0]
    if is_reference(value) or value.isdigit():
        return found[0]
    return found["before"] + MASK
