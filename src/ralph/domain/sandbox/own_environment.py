"""Which variables of the user's environment reach ralph's own programs when an agent is confined.

A variable can make a program load or run a file. Those that name one where the agent may write stay behind, and so
does the rest of a list of folders that holds one: half of such a list would be another list.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ralph.patterns import pattern

# Read by loaders and interpreters. A bare word in them is a file or folder too.
_LOADERS = frozenset({
    "ENV", "GCONV_PATH", "GIO_EXTRA_MODULES", "GTK_MODULES", "GTK_PATH", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS",
    "LOCPATH", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "OPENSSL_CONF",
    "OPENSSL_ENGINES", "OPENSSL_MODULES", "PERL5LIB", "PERLLIB", "PHPRC", "PHP_INI_SCAN_DIR", "RUBYLIB", "_JAVA_OPTIONS",
})  # fmt: skip
_FAMILIES = ("DYLD_", "LD_", "LUA_", "PYTHON")
_WORDS = frozenset({"PYTHONHASHSEED", "PYTHONIOENCODING"})  # of a family, but no paths
# What an interpreter runs by itself.
_CODE = (
    "BASHOPTS", "BASH_ENV", "BASH_FUNC_", "PERL5DB", "PERL5OPT", "PROMPT_COMMAND", "PS4", "RUBYOPT", "SHELLOPTS", "ZDOTDIR",
)  # fmt: skip
# Commands and places. A bare word in them is looked for on PATH, or is no path at all.
_COMMANDS = frozenset({
    "CURL_HOME", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF",
    "CONTAINER_HOST", "EDITOR", "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_ASKPASS", "GIT_COMMON_DIR", "GIT_CONFIG",
    "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_DIR", "GIT_EDITOR", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF",
    "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_PAGER", "GIT_PROXY_COMMAND", "GIT_SEQUENCE_EDITOR", "GIT_SSH",
    "GIT_SSH_COMMAND", "GIT_TEMPLATE_DIR", "GIT_WORK_TREE", "GNUPGHOME", "PAGER", "REGISTRY_AUTH_FILE", "SHELL",
    "SSH_ASKPASS", "SSL_CERT_DIR", "SSL_CERT_FILE", "SUDO_ASKPASS", "VISUAL", "XDG_CONFIG_DIRS", "XDG_CONFIG_HOME",
    "XDG_DATA_DIRS", "XDG_DATA_HOME",
})  # fmt: skip
_TRACES = ("GIT_TRACE",)  # files that git writes
_SEPARATORS = pattern(r"[\s:;,='\"]+")
_HERE = pattern(r"^:|::|:$")  # an empty part of a list of folders is the current one
_HARMLESS = pattern(r"-+(?!r\b|require|import|loader|experimental-loader|eval|e\b)[\w-]+|\d+[kmgKMG]?|")

CARRIED = "RALPH_INSIDE_"
"""Before the name of each variable of an agent while it passes the programs outside that set up its sandbox."""


def own_variables(environ: Mapping[str, str], is_reached: Callable[[str], bool]) -> dict[str, str]:
    """Those of ``environ`` for our own programs. ``is_reached``: whether a path is one that an agent decides about."""
    home = environ.get("HOME", "")
    return {
        name: value
        for name, value in environ.items()
        if not name.startswith(CARRIED) and not _is_bent(name, value, home, is_reached)
    }


def _is_bent(name: str, value: str, home: str, is_reached: Callable[[str], bool]) -> bool:
    if name.startswith(_CODE):
        return True
    if name in _LOADERS or (name.startswith(_FAMILIES) and name not in _WORDS):
        return bool(_HERE.search(value)) or any(
            not part.startswith("/") or is_reached(part)
            for part in _parts(value, home)
            if not _HARMLESS.fullmatch(part)
        )
    if name in _COMMANDS or name.startswith(_TRACES):
        return any(
            not part.startswith("/") or is_reached(part) for part in _parts(value, home) if "/" in part
        )
    return False


def _parts(value: str, home: str) -> list[str]:
    if home:
        value = re.sub(r"(?:~|\$HOME|\$\{HOME\})(?=/)", lambda _: home, value)
    return _SEPARATORS.split(value)
