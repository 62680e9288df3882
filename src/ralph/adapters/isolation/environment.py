"""Which variables a sandboxed process gets. Everything else is taken out before the sandbox is made.

Before, and not by the sandbox's own means: the first process inside shows the environment that it was started
with to all others in there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

_KEPT = (
    "CI", "COLORTERM", "COLUMNS", "EDITOR", "FORCE_COLOR", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_NAME", "GIT_CONFIG_NOSYSTEM", "GOPATH", "HOME", "JAVA_HOME", "LANG",
    "LANGUAGE", "LC_*", "LINES", "LOGNAME", "NODE_EXTRA_CA_CERTS", "NODE_OPTIONS", "NO_COLOR", "NVM_DIR", "PATH",
    "PWD", "PYENV_ROOT", "PYENV_VERSION", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONUTF8",
    "RALPH_ITERATION", "RALPH_MAX_ITERATIONS", "RALPH_RUN_ID", "RALPH_SPAWN_ID", "REQUESTS_CA_BUNDLE", "SHELL",
    "SHLVL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TZ", "USER", "VIRTUAL_ENV",
)  # fmt: skip


def kept_variables(environ: Mapping[str, str], patterns: Iterable[str] = ()) -> frozenset[str]:
    """The names in ``environ`` that stay. A pattern may have one ``*``."""
    wanted = (*_KEPT, *patterns)
    return frozenset(name for name in environ if any(_matches(name, pattern) for pattern in wanted))


def _matches(name: str, pattern: str) -> bool:
    before, star, after = pattern.partition("*")
    if not star:
        return name == pattern
    return len(name) >= len(before) + len(after) and name.startswith(before) and name.endswith(after)
