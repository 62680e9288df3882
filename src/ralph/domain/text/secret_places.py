"""Secrets recognised by where they stand: in an address, a header, an option or a variable of a command.

Whatever a program would take for a password there is masked, and nothing around it: one still sees what was called.
A reference such as ``$PASSWORD`` is no secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ralph.domain.text.secret_names import MASK, Secrecy, is_secret, secrecy

# Texts, compiled when they are first needed: most runs need none of them.
_ADDRESS = r"://[^\s'\"<>\\`]+"
_ACCESS = r"://(?P<user>[^/?#@:]*)(?::(?P<password>[^/?#]+|(?!\d{1,5}[/?#])[^@]+))?@"
_PARAMETER = r"(?P<before>[?&#;](?P<name>[\w.%-]+)=)(?P<value>[^&#;]+)"
_WEBHOOK = (
    r"://(?:hooks\.slack(?:-gov)?\.com/|[\w.]*discord(?:app)?\.com/api/webhooks/|api\.telegram\.org/bot|hc-ping\.com/"
    r"|hooks\.zapier\.com/hooks/|maker\.ifttt\.com/|ntfy\.sh/|[\w.-]*webhook\.office\.com/|[\w.:-]+/hooks/(?=\w{16}))"
)
_QUOTED = r"\\*\"[^\"\\]*|\\*'[^'\\]*"
_HEADER = (
    r"(?i)(?P<before>(?:a?uthorization\\*[\"']?\s*[:=]|(?:-(?:key|token|secret)|\bapi-?key)\\*[\"']?\s*:)\s*\\*[\"']?"
    r"(?:(?:bearer|basic|digest|token|negotiate|apikey)\s+)?)(?P<value>[^\s'\"\\,]+)"
)
_COOKIE = r"(?i)(?P<before>\bcookie\\*[\"']?\s*:\s*\\*[\"']?)(?P<value>[^'\"\\\n]+)"
_BEARER = r"(?i)(?P<before>\bbearer\s+)(?P<value>(?=[^\s'\"]*\d)[\w.~+/-]{16,}=*)"
_OPTION = (
    r"(?P<before>(?<![\w-])--?(?P<name>[A-Za-z][\w-]*)(?P<gap>=|\s+(?!-)))"
    rf"(?P<value>{_QUOTED}|[^\s'\"\\]+)"
)
_VARIABLE = rf"(?P<before>(?<![\w-])(?P<name>[A-Z_][A-Z0-9_]+)=)(?P<value>{_QUOTED}|[^\s'\"\\;&|()\[\]]+)"
_LOGIN = (
    r"(?P<before>\s(?P<option>-u|--user|-a|--auth|-p)(?:\s+|=)?\\*[\"']?)(?P<value>[^\s'\"\\-][^\s'\"\\]*)"
)
_LOGIN_OF = {  # option: the programs that take a password with it, after a user and a colon or alone
    "-u": ("curl",),
    "--user": ("curl",),
    "-a": ("http", "https", "xh", "redis-cli"),
    "--auth": ("http", "https", "xh"),
    "-p": ("sshpass", "mysql", "mysqldump", "mysqladmin"),
}
_PROGRAMS = ("curl", "http", "xh ", "sshpass", "redis-cli", "mysql")
_LONGEST_COMMAND = 400
_REFERENCE = r"(?s)\$.*|\{.*\}|<.*|%\w+%?|\*+|x+|\.{3}.*|….*"
_HARMLESS = "file path dir folder env name type id length count size limit field column mode".split()  # noqa: SIM905
_LONG_USER = 20

_BEARING = "key token passw secret credential auth pwd pass= pat="
_BEARING_NAMES = tuple(f(word) for word in _BEARING.split() for f in (str, str.upper, str.capitalize))


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
    if has_dash and any(program in text for program in _PROGRAMS):
        text = re.sub(_LOGIN, _mask_login, text)
    return text


def mask_address(address: str) -> str:
    """Of an address that is a secret as a whole, such as a webhook's: only where it leads."""
    scheme, separator, rest = address.partition("://")
    host = re.split(r"[/?#]", rest.rpartition("@")[2] if "@" in rest.split("/", 1)[0] else rest, maxsplit=1)[
        0
    ]
    return f"{scheme}{separator}{host}/{MASK}"


def _is_no_secret(value: str) -> bool:
    """A reference, or masked already."""
    return not value or MASK in value or re.fullmatch(_REFERENCE, value) is not None


def _mask_named(text: str) -> str:
    text = _mask(_HEADER, text, lambda found: not found["value"].isalpha())
    if "-" in text:
        text = _mask(_OPTION, text, _is_given_by_option)
    return _mask(_VARIABLE, text, _is_given_by_variable) if "=" in text else text


def _mask(pattern: str, text: str, is_meant: Callable[[re.Match[str]], bool] | None = None) -> str:
    def replace(found: re.Match[str]) -> str:
        value = found["value"]
        bare = value.lstrip("\\").lstrip("'\"")
        if _is_no_secret(bare) or (is_meant is not None and not is_meant(found)):
            return found[0]
        return found["before"] + value[: len(value) - len(bare)] + MASK

    return re.sub(pattern, replace, text)


def _mask_login(found: re.Match[str]) -> str:
    value, programs = found["value"], _LOGIN_OF[found["option"]]
    start = found.string[max(0, found.start() - _LONGEST_COMMAND) : found.start()]
    words = re.split(r"[\s'\"\\(]+", re.split(r"[\n|;&]", start)[-1])
    program = next((word.rpartition("/")[2] for word in words if word.rpartition("/")[2] in programs), "")
    user, colon, password = value.partition(":")
    if not program or (not colon and program not in ("redis-cli", *_LOGIN_OF["-p"])):
        return found[0]
    if colon:
        return found[0] if _is_no_secret(password) else f"{found['before']}{user}:{MASK}"
    return found[0] if _is_no_secret(value) else found["before"] + MASK


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
    return name.lower().split("_")[-1] not in _HARMLESS and is_secret(name, value)


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
    return f"{user}:{password if _is_no_secret(password) else MASK}"


def _mask_parameter(found: re.Match[str]) -> str:
    name, value = found["name"], found["value"]
    if secrecy(name) < Secrecy.LIKELY and name.lower() not in ("sig", "signature", "code"):
        return found[0]
    if _is_no_secret(value) or value.isdigit():
        return found[0]
    return found["before"] + MASK
