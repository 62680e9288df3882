"""What variables and flags of agents name: shown like their state, or said to be hidden."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.adapters.agents.registry import facts_of
from ralph.adapters.isolation.agent_state import survey_state
from ralph.adapters.isolation.named_paths import hidden_notes
from ralph.adapters.isolation.place import How
from ralph.adapters.isolation.places import places
from ralph.adapters.isolation.sandbox import Site
from ralph.adapters.own_programs import OwnPrograms
from ralph.agent_names import known_agents
from ralph.domain.sandbox.policy import SandboxPolicy

MakeSite = Callable[..., Site]


@pytest.fixture
def make_site(tmp_path: Path) -> MakeSite:
    home, workspace = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    workspace.mkdir()

    def make(
        agent: str, *, settings: frozenset[str] = frozenset(), path: str = "", **environ: object
    ) -> Site:
        given = {
            "HOME": str(home),
            "PATH": path or "/usr/bin",
            **{name: str(value) for name, value in environ.items()},
        }
        return Site(
            workspace,
            workspace / ".ralph",
            (agent,),
            "run",
            given,
            facts_of(agent).needs,
            explicit=settings,
            own=OwnPrograms(given),
        )

    return make


def notes(site: Site, *arguments: str) -> list[str]:
    policy = SandboxPolicy()
    found = places(site, policy, site.needs)
    return [*hidden_notes(site, (*site.needs.env, *policy.env), arguments, found, is_bare=False)]


def test_a_state_folder_that_a_variable_moves_is_shown_where_it_is(
    make_site: MakeSite, tmp_path: Path
) -> None:
    moved = tmp_path / "home" / "elsewhere"
    moved.mkdir()
    for name in (".credentials.json", "settings.json", "history.jsonl"):
        (moved / name).write_text("{}")
    site = make_site("claude", CLAUDE_CONFIG_DIR=moved)

    state = survey_state(site, site.needs)

    shown = {place.path: place.how for place in state.places}
    assert shown[moved] is How.HIDDEN  # with what is shown in it
    assert shown[moved / ".credentials.json"] is How.WRITABLE
    assert shown[moved / "projects"] is How.WRITABLE
    assert [place.path for place in state.copies] == [moved / "settings.json"]
    assert moved / "history.jsonl" not in shown
    assert notes(site) == []


def test_a_file_that_a_variable_names_is_shown_and_a_folder_like_state(
    make_site: MakeSite, tmp_path: Path
) -> None:
    file, folder = tmp_path / "home" / "opencode.json", tmp_path / "home" / "own"
    folder.mkdir()
    (folder / "agent.md").write_text("mine")
    file.write_text("{}")
    site = make_site("opencode", OPENCODE_CONFIG=file, OPENCODE_CONFIG_DIR=folder)

    state = survey_state(site, site.needs)

    shown = {place.path: place.how for place in state.places}
    assert (shown[file], shown[folder]) == (How.READABLE, How.HIDDEN)
    assert folder / "agent.md" in {place.path for place in state.copies}
    assert notes(site) == []


def test_what_settings_name_is_not_shown_but_said_to_be_hidden(make_site: MakeSite, tmp_path: Path) -> None:
    secret = tmp_path / "home" / ".ssh"
    secret.mkdir()
    (secret / "id").write_text("key")
    site = make_site("codex", settings=frozenset({"CODEX_HOME"}), CODEX_HOME=secret)

    state = survey_state(site, site.needs)

    assert not [place for place in (*state.places, *state.copies) if place.path.is_relative_to(secret)]
    (note,) = notes(site)
    assert note.startswith(f"CODEX_HOME names {secret}, which the sandbox hides: add it to sandbox.readonly")


def test_a_link_for_a_state_folder_is_said_to_be_hidden(make_site: MakeSite, tmp_path: Path) -> None:
    real, link = tmp_path / "home" / "real", tmp_path / "home" / "link"
    real.mkdir()
    link.symlink_to(real)

    (note,) = notes(make_site("claude", CLAUDE_CONFIG_DIR=link))

    assert note.startswith(f"CLAUDE_CONFIG_DIR names {real}, which the sandbox hides")


@pytest.mark.parametrize("folder", ["home", "project", "."])
def test_a_variable_never_shows_the_home_or_the_workspace(
    make_site: MakeSite, tmp_path: Path, folder: str
) -> None:
    named = (tmp_path / folder).resolve()
    site = make_site("claude", CLAUDE_CONFIG_DIR=named)

    assert named not in {place.path for place in survey_state(site, site.needs).places}


def test_hidden_certificates_and_flags_are_said_and_what_is_shown_is_not(
    make_site: MakeSite, tmp_path: Path
) -> None:
    certificate, plugin = tmp_path / "home" / "ca.pem", tmp_path / "home" / "clone" / "plugin"
    plugin.mkdir(parents=True)
    certificate.write_text("ca")
    inside = tmp_path / "project" / "mcp.json"
    inside.write_text("{}")
    site = make_site("claude", NODE_EXTRA_CA_CERTS=certificate, ANTHROPIC_LOG="/nowhere/at/all")

    told = notes(
        site, f"--plugin-dir={plugin}", f"--mcp-config={inside}", str(plugin), "--model=a/b", "/etc/hosts"
    )

    assert [note.partition(" names ")[0] for note in told] == [
        "NODE_EXTRA_CA_CERTS",
        "--plugin-dir",
        "a flag of the agent",
    ]


def test_packages_that_npm_has_put_side_by_side_are_shown_together(
    make_site: MakeSite, tmp_path: Path
) -> None:
    modules = tmp_path / "home" / "tools" / "node_modules"
    for folder in (".bin", "@openai/codex/bin", "@openai/codex-linux-x64"):
        (modules / folder).mkdir(parents=True)
    program = modules / "@openai" / "codex" / "bin" / "codex.js"
    program.write_text("#!/usr/bin/env node")
    program.chmod(0o755)
    (modules / ".bin" / "codex").symlink_to("../@openai/codex/bin/codex.js")
    site = make_site("codex", path=f"{modules / '.bin'}:/usr/bin")

    shown = {place.path: place.how for place in places(site, SandboxPolicy(), site.needs)}

    assert shown[modules] is How.READABLE
    assert tmp_path / "home" / "tools" not in shown


@pytest.mark.parametrize("agent", known_agents())
def test_every_variable_that_names_a_path_is_let_in_and_moves_a_folder_of_the_state(agent: str) -> None:
    needs = facts_of(agent).needs
    for variable, folder in needs.named:
        assert any(variable == pattern or variable.startswith(pattern.rstrip("*")) for pattern in needs.env)
        assert not folder or folder in needs.state
