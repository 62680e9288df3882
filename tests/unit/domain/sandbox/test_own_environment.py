"""Which variables of the user's environment our own programs get."""

from __future__ import annotations

import pytest

from ralph.domain.sandbox.own_environment import own_variables

HOME = {"HOME": "/home/me"}


def is_reached(path: str) -> bool:
    return path.startswith(("/work/", "/home/me/.claude/")) or path == "/work"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "/work/e.so"),
        ("LD_PRELOAD", "e.so"),
        ("LD_LIBRARY_PATH", "/opt/lib:./lib"),
        ("LD_LIBRARY_PATH", "/opt/lib:"),
        ("LD_LIBRARY_PATH", "/opt/lib::/usr/lib"),
        ("LD_AUDIT", "/work/a.so"),
        ("PYTHONPATH", "."),
        ("PYTHONPATH", "src"),
        ("PYTHONPATH", "/opt/x:/work/src"),
        ("PYTHONHOME", "/work/.venv"),
        ("NODE_OPTIONS", "--require ./x"),
        ("NODE_OPTIONS", "--require=x"),
        ("NODE_OPTIONS", "-r x"),
        ("NODE_OPTIONS", "--import=file:///work/x.mjs"),
        ("NODE_PATH", "node_modules"),
        ("PERL5LIB", "lib"),
        ("PERL5OPT", "-Mevil"),
        ("RUBYOPT", "-r./x"),
        ("BASH_ENV", "/home/me/.bashenv"),
        ("BASH_FUNC_git%%", "() { evil; }"),
        ("ENV", "$PWD/rc"),
        ("GIT_SSH_COMMAND", "./ssh -v"),
        ("GIT_SSH_COMMAND", "/usr/bin/env FOO=1 '/work/x'"),
        ("GIT_SSH_COMMAND", "$PWD/ssh"),
        ("GIT_EXEC_PATH", "/work/libexec"),
        ("GIT_CONFIG_GLOBAL", "conf/gitconfig"),
        ("GIT_DIR", "/work/odd.git"),
        ("GIT_TRACE", "/work/trace"),
        ("GIT_ASKPASS", "~/.claude/askpass"),
        ("XDG_CONFIG_HOME", "/work/.config"),
        ("RALPH_INSIDE_X", "1"),
    ],
)
def test_what_names_a_file_in_reach_stays_behind(name: str, value: str) -> None:
    assert own_variables({**HOME, name: value}, is_reached) == HOME


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_LIBRARY_PATH", "/opt/lib:/usr/lib"),
        ("NODE_OPTIONS", "--max-old-space-size=4096 --use-openssl-ca"),
        ("PYTHONUNBUFFERED", "1"),
        ("PYTHONPATH", "/opt/lib"),
        ("GIT_SSH_COMMAND", "ssh -i ~/.ssh/deploy -o IdentitiesOnly=yes"),
        ("GIT_AUTHOR_NAME", "one/two"),
        ("GIT_BRANCH", "origin/main"),
        ("GIT_CONFIG_VALUE_0", "/work"),
        ("GIT_TERMINAL_PROMPT", "0"),
        ("SSH_AUTH_SOCK", "/run/agent"),
        ("VIRTUAL_ENV", "/work/.venv"),
        ("EDITOR", "vim -f"),
        ("LANG", "C.UTF-8"),
        ("ENVIRONMENT", "production"),
        ("NODE_ENV", "production"),
        ("PYTHONIOENCODING", "utf-8"),
    ],
)
def test_what_does_not_stays(name: str, value: str) -> None:
    assert own_variables({**HOME, name: value}, is_reached) == {**HOME, name: value}
