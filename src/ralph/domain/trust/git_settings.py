"""Which settings of git make the user's own git commands run a program, or change where they go."""

from __future__ import annotations

from ralph.domain.text.git_config import without_subsection

_PROGRAMS = (
    "askpass", "cmd", "command", "difffilter", "editor", "external", "helper", "hook", "hookspath", "httpd", "pack", "pager",
    "program", "smtpserver", "textconv", "tunnel", "vcs", "virtualfilesystem",
)  # fmt: skip
"""How the names of such settings end: those of later versions, too."""
_TOOLS = frozenset({"browser.path", "difftool.path", "man.path", "mergetool.path"})
_ADDRESSES = ("curloptresolve", "insteadof", "proxy", "templatedir")
_BOOLEANS = frozenset({"", "true", "false", "yes", "no", "on", "off", "0", "1"})


def names_program(key: str, value: str) -> bool:
    section, short = key.partition(".")[0], without_subsection(key)
    if short == "hook.command" or not value:
        return False  # which are asked about in any case; nothing
    if section == "pager" or short == "core.fsmonitor":
        return value.lower() not in _BOOLEANS
    if short == "submodule.update":
        return value.startswith("!")
    return section == "alias" or short in _TOOLS or short.endswith(_PROGRAMS)


def leads_elsewhere(key: str, value: str) -> bool:
    short = without_subsection(key)
    if short == "protocol.allow":
        return value != "never"
    return bool(value) and short.endswith(_ADDRESSES)
