"""Imported work is confined by the user's word alone, and only hosts that the user names get a token."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from ralph.adapters.online.github_login import Surroundings
from ralph.adapters.processes.runner import PosixProcessRunner
from ralph.adapters.sources.choice import open_source
from ralph.config.loading import Loaded, Sources
from ralph.domain.tickets.coverage import Imports
from ralph.errors import RalphError, ServiceRefused
from ralph.wiring.tickets import confine, imports_of

NOWHERE = "said nowhere"
FLAG = "--no-sandbox"


def load(
    folder: Path,
    *,
    own: object = NOWHERE,
    repository: object = NOWHERE,
    environment: str = "",
    flag: str = "",
) -> Loaded:
    """``own``: what the user's own file says of the sandbox's kind; ``repository``: what the project's does."""
    root, home = folder / "project", folder / "config"
    for value, path in ((repository, root / ".ralph"), (own, home / "ralph")):
        path.mkdir(parents=True)
        if value != NOWHERE:
            (path / "settings.json").write_text(json.dumps({"sandbox": {"kind": value}}))
    environ = {"XDG_CONFIG_HOME": str(home)}
    if environment:
        environ["RALPH_SANDBOX__KIND"] = environment
    flags = [(("sandbox", "kind"), "none", flag)] if flag else []
    return Sources.read(root, environ).load(flags)


NOT_OFF: list[dict[str, Any]] = [
    {},
    {"own": None},
    {"own": "auto"},
    {"environment": "auto"},
    {"repository": "none"},
    {"repository": None},
    {"repository": "auto"},
    {"own": "strongest", "repository": "none"},
    {"own": "bwrap", "repository": "auto"},
    {"own": "bwrap", "repository": None},
    {"own": "none", "repository": "auto"},
]
OFF: list[dict[str, Any]] = [
    {"own": "none"},
    {"environment": "none"},
    {"flag": FLAG},
    {"repository": "strongest", "environment": "none"},
    {"repository": "none", "flag": FLAG},
    {"own": "bwrap", "flag": FLAG},
]
STRONG: list[tuple[dict[str, Any], str]] = [
    ({"own": "bwrap"}, "bwrap"),
    ({"own": "strongest"}, "strongest"),
    ({"repository": "container"}, "container"),
    ({"own": "none", "repository": "strongest"}, "strongest"),
    ({"repository": "none", "environment": "sbx"}, "sbx"),
]


@pytest.mark.parametrize("said", NOT_OFF, ids=str)
@pytest.mark.parametrize(
    ("imports", "kind"), [(Imports.TRACKERS, "strongest"), (Imports.FILES, "auto")], ids=lambda one: str(one)
)
def test_imported_work_is_confined_unless_the_user_says_none(
    tmp_path: Path, said: dict[str, Any], imports: Imports, kind: str
) -> None:
    loaded = load(tmp_path, **said)
    assert confine(loaded, loaded.settings, imports).sandbox.kind == kind


@pytest.mark.parametrize("said", OFF, ids=str)
@pytest.mark.parametrize("imports", [Imports.TRACKERS, Imports.FILES])
def test_the_user_s_own_none_switches_it_off(tmp_path: Path, said: dict[str, Any], imports: Imports) -> None:
    loaded = load(tmp_path, **said)
    assert confine(loaded, loaded.settings, imports).sandbox.kind == "none"


@pytest.mark.parametrize(("said", "kind"), STRONG, ids=str)
@pytest.mark.parametrize("imports", list(Imports))
def test_a_sandbox_that_was_named_stays(
    tmp_path: Path, said: dict[str, Any], kind: str, imports: Imports
) -> None:
    loaded = load(tmp_path, **said)
    assert confine(loaded, loaded.settings, imports).sandbox.kind == kind


@pytest.mark.parametrize("said", [*NOT_OFF, *OFF], ids=str)
def test_work_of_one_s_own_is_as_the_settings_say(tmp_path: Path, said: dict[str, Any]) -> None:
    loaded = load(tmp_path, **said)
    assert confine(loaded, loaded.settings, Imports.NONE) == loaded.settings


@pytest.mark.parametrize(
    ("sources", "imports"),
    [
        ((), Imports.NONE),
        (("TODO.md",), Imports.FILES),
        (("github:octo/hello",), Imports.TRACKERS),
        (("specs", "LINEAR:ENG"), Imports.TRACKERS),
        (("c:/windows", "github"), Imports.FILES),
    ],
)
def test_the_most_that_any_source_needs_is_prepared_for(sources: tuple[str, ...], imports: Imports) -> None:
    assert imports_of(sources) is imports


# --- whose hosts get a token ---


def around(folder: Path, environ: Mapping[str, str], *, gh: Path | None = None) -> Surroundings:
    runner = PosixProcessRunner(run_id="", base_environment={**environ, "PATH": os.environ["PATH"]})
    program = None if gh is None else str(gh)
    return Surroundings(environ=environ, find=lambda name: program, runner=runner, cwd=folder)


ELSEWHERE = "github:git.example.test/octo/hello"


@pytest.mark.parametrize("token", ["GITHUB_TOKEN", "GH_TOKEN", "GH_ENTERPRISE_TOKEN"])
def test_a_host_that_only_the_repository_names_gets_no_token(tmp_path: Path, token: str) -> None:
    environ = {token: "secret"}
    with pytest.raises(ServiceRefused, match="only the repository names it"):
        open_source(ELSEWHERE, around(tmp_path, environ), tmp_path, is_named=False)
    assert open_source(ELSEWHERE, around(tmp_path, environ), tmp_path, is_named=True).is_shared


def test_a_host_that_the_environment_names_too_gets_it(tmp_path: Path) -> None:
    environ = {"GITHUB_TOKEN": "secret", "GH_HOST": "git.example.test"}
    assert open_source(ELSEWHERE, around(tmp_path, environ), tmp_path, is_named=False).is_shared


def test_github_itself_needs_no_other_word(tmp_path: Path) -> None:
    for name in ("github:octo/hello", "github:github.com/octo/hello"):
        opened = open_source(name, around(tmp_path, {"GITHUB_TOKEN": "secret"}), tmp_path, is_named=False)
        assert opened.name == "github:octo/hello"


@pytest.mark.parametrize(("is_named", "seen"), [(True, "secret"), (False, "")])
def test_gh_gives_a_host_that_only_the_repository_names_no_token_either(
    tmp_path: Path, is_named: bool, seen: str
) -> None:
    """It has a login of its own for each host, but would give this variable's token to any."""
    gh = tmp_path / "gh"
    gh.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$GH_ENTERPRISE_TOKEN$GITHUB_ENTERPRISE_TOKEN" >> {tmp_path}/seen\nexit 1\n'
    )
    gh.chmod(0o755)
    reached = around(tmp_path, {"GH_ENTERPRISE_TOKEN": "secret"}, gh=gh)
    source = open_source(ELSEWHERE, reached, tmp_path, is_named=is_named)
    with pytest.raises(RalphError):
        asyncio.run(asyncio.wait_for(source.read("1"), 60))
    assert set((tmp_path / "seen").read_text().splitlines()) == {seen}
