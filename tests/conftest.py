"""What every test needs: a home of its own, and no settings or agents leaking in from outside."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

# Shared machines are slow at times; a deadline per example would test the machine.
settings.register_profile("ralph", deadline=None)
settings.load_profile("ralph")

# Whoever runs the tests by `nohup`, or in the background of a script, ignores these, and so would each program that a test starts.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path_factory.mktemp("home")
    move_home(home, monkeypatch)
    return home


def move_home(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing may read or write the home of who runs the tests."""
    for name in list(os.environ):
        if name.startswith(("RALPH_", "CLAUDE", "CODEX_", "AMP_", "GIT_", "OTEL_", "TRACE")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / ".local" / "state"))
    # Tests write the settings that they run; those of trust take it away again.
    monkeypatch.setenv("RALPH_TRUST", "1")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "tester")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "tester@localhost")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "tester")
    monkeypatch.setenv("GIT_COMMITTER_EMAIL", "tester@localhost")
    # A guardrail that runs pytest would load our plugins too, which takes five times as long as all the rest of it.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
