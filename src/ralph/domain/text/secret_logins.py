"""Passwords among the arguments of programs that take them with a short option: ``curl -u me:…``, ``docker login -p …``."""

from __future__ import annotations

import re

from ralph.domain.text.secret_names import MASK
from ralph.domain.text.secret_values import is_reference
from ralph.patterns import pattern

_LOGIN = pattern(
    r"(?P<before>[ \t](?P<option>-u|--user|-a|--auth|-p|-P|-w)(?:[ \t]{1,8}|=)?\\{0,6}[\"']?)"
    r"(?P<value>[^\s'\"\\-][^\s'\"\\]*)"
)
_CLIENTS = ("mysql", "mysqldump", "mysqladmin", "mariadb", "mariadb-dump", "mongo", "mongosh", "mongodump")
REGISTRIES = ("docker", "podman", "nerdctl", "buildah", "skopeo", "helm")
_LDAP = ("ldapsearch", "ldapadd", "ldapmodify", "ldapdelete", "ldapwhoami")
_PROGRAMS_OF = {  # option: the programs that take a password with it
    "-u": ("curl",),
    "--user": ("curl",),
    "-a": ("http", "https", "xh", "redis-cli"),
    "--auth": ("http", "https", "xh"),
    "-p": ("sshpass", *_CLIENTS, *REGISTRIES),
    "-P": ("sqlcmd", "bcp", "zip", "unzip"),
    "-w": _LDAP,
}
_AFTER_USER = ("curl", "http", "https", "xh")  # as user:password
_PARTS = (
    "curl",
    "http",
    "xh",
    "sshpass",
    "redis-cli",
    "mysql",
    "mariadb",
    "mongo",
    "login",
    "sqlcmd",
    "bcp",
    "zip",
    "ldap",
)
_LONGEST_COMMAND = 400


def mask_logins(text: str) -> str:
    """Nearly every text names none of these programs, and looking for literals is quick."""
    if (" -" not in text and "\t-" not in text) or not any(part in text for part in _PARTS):
        return text
    return _LOGIN.sub(_replace, text)


def _replace(found: re.Match[str]) -> str:
    option, value = found["option"], found["value"]
    start = found.string[max(0, found.start() - _LONGEST_COMMAND) : found.start()]
    words = [
        word.rpartition("/")[2]
        for word in re.split(r"(?:\\[nrt]|[\s'\"\\(])+", re.split(r"[\r\n|;&]", start)[-1])
    ]
    program = next((word for word in reversed(words) if word in _PROGRAMS_OF[option]), "")
    if not program or (program in REGISTRIES and "login" not in words):
        return found[0]
    user, colon, password = value.partition(":")
    if program in _AFTER_USER:
        return f"{found['before']}{user}:{MASK}" if colon and not is_reference(password) else found[0]
    return found[0] if is_reference(value) else found["before"] + MASK
