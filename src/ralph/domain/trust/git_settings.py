"""Which settings of git make the user's own git commands run a program, or change where they go."""

from __future__ import annotations

from ralph.domain.text.git_config import without_subsection

_PROGRAMS = (
    "askpass", "cmd", "command", "difffilter", "editor", "external", "helper", "hook", "hookspath", "httpd", "pack", "pager",
    "program", "smtpserver", "textconv", "tunnel", "vcs", "virtualfilesystem",
)  # fmt: skip
"""How the names of such settings end: those of later versions, too."""
_TOOLS = frozenset({"browser.path", "difftool.path", "man.path", "mergetool.path"})
_ADDRESSES = ("curloptresolve", "insteadof", "proxy", "proxyauthmethod", "pushoption", "templatedir")
_HARMLESS = {
    "credential": frozenset({"interactive", "usehttppath", "username"}),
    "http": frozenset({
        "keepalivecount", "keepaliveidle", "keepaliveinterval", "lowspeedlimit", "lowspeedtime", "maxrequests", "maxretries",
        "maxretrytime", "minsessions", "noepsv", "postbuffer", "retryafter", "useragent", "version",
    }),
}  # fmt: skip
"""What says neither whom git believes nor what it sends. All else in these sections does, in later versions too."""
_AS_USUAL = {
    "http.sslverify": frozenset({"true", "yes", "on", "1"}),
    "http.followredirects": frozenset({"initial", "false", "no", "off", "0"}),
}
_EMPTIED = frozenset({"http.cookiefile", "http.curloptresolve", "http.extraheader", "http.proxy"})
"""Without a value these take back what was said before. For others of ``http``, no value may mean yes, or no."""
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
    """Where to, by way of whom, whom it believes on the way there, and what it sends along."""
    section, short = key.partition(".")[0], without_subsection(key)
    if short == "protocol.allow":
        return value != "never"
    if short in _AS_USUAL:
        return value.lower() not in _AS_USUAL[short]
    if section in _HARMLESS and short.partition(".")[2] not in _HARMLESS[section]:
        return bool(value) or (section == "http" and short not in _EMPTIED)
    return bool(value) and short.endswith(_ADDRESSES)


def is_secret(key: str) -> bool:
    """Whether its value is sent as it is, and may hold a token: workflows on GitHub leave theirs in one."""
    return without_subsection(key) == "http.extraheader"
