"""What the user's own sessions run or obey cannot be changed by a sandboxed agent; its own sessions are kept."""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from ralph.adapters.agents.registry import facts_of
from ralph.agent_names import known_agents
from ralph.errors import ConfigError

from .conftest import Sandboxed, git

OBEYED = {
    "claude": [
        ".claude.json",
        ".claude/CLAUDE.md",
        ".claude/agents/a.md",
        ".claude/commands/c.md",
        ".claude/hooks/h.sh",
        ".claude/keybindings.json",
        ".claude/local/claude",
        ".claude/local/node_modules/.bin/claude",
        ".claude/output-styles/o.md",
        ".claude/plugins/known_marketplaces.json",
        ".claude/plugins/store/p.json",
        ".claude/projects/-home-u-p/memory/MEMORY.md",
        ".claude/projects/-home-u-p/session.jsonl",
        ".claude/remote-settings.json",
        ".claude/rules/r.md",
        ".claude/scripts/mine.sh",
        ".claude/settings.json",
        ".claude/settings.local.json",
        ".claude/shell-snapshots/snapshot-bash-1.sh",
        ".claude/skills/s/SKILL.md",
        ".claude/statusline-command.sh",
        ".claude/tasks/t/1.json",
        ".claude/todos/t.json",
    ],
    "codex": [
        ".codex/AGENTS.md",
        ".codex/AGENTS.override.md",
        ".codex/agents/a.toml",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".codex/memories/MEMORY.md",
        ".codex/memories_1.sqlite",
        ".codex/packages/bin/codex",
        ".codex/plugins/p/plugin.json",
        ".codex/prompts/p.md",
        ".codex/rules/default.rules",
        ".codex/sessions/2026/01/01/rollout.jsonl",
        ".codex/shell_snapshots/s.sh",
        ".codex/skills/.system/x/SKILL.md",
        ".codex/skills/s/SKILL.md",
        ".codex/work.config.toml",
    ],
    "gemini": [
        ".gemini/.env",
        ".gemini/GEMINI.md",
        ".gemini/agents/a.md",
        ".gemini/commands/c.toml",
        ".gemini/extensions/e/gemini-extension.json",
        ".gemini/policies/p.toml",
        ".gemini/projects.json",
        ".gemini/settings.json",
        ".gemini/skills/s/SKILL.md",
        ".gemini/system.md",
        ".gemini/tmp/bin/rg",
        ".gemini/tmp/p/memory/MEMORY.md",
        ".gemini/trustedFolders.json",
    ],
    "qwen": [
        ".qwen/.env",
        ".qwen/QWEN.md",
        ".qwen/agents/a.md",
        ".qwen/commands/c.toml",
        ".qwen/extension-store/state.json",
        ".qwen/extensions/e/qwen-extension.json",
        ".qwen/oauth_creds.json",
        ".qwen/output-language.md",
        ".qwen/projects/p/memory/MEMORY.md",
        ".qwen/settings.json",
        ".qwen/skills/s/SKILL.md",
        ".qwen/tmp/bin/rg",
        ".qwen/trustedFolders.json",
    ],
    "copilot": [
        ".cache/copilot/pkg/linux-x64/1.0.0/app.js",
        ".copilot/agents/a.md",
        ".copilot/config.json",
        ".copilot/copilot-instructions.md",
        ".copilot/hooks/h.json",
        ".copilot/installed-plugins/p/plugin.json",
        ".copilot/lsp-config.json",
        ".copilot/mcp-config.json",
        ".copilot/pkg/linux-x64/1.0.0/index.js",
        ".copilot/session-state/s/plan.md",
        ".copilot/settings.json",
        ".copilot/skills/s/SKILL.md",
    ],
    "opencode": [
        ".cache/opencode/bin/rg",
        ".cache/opencode/node_modules/plugin/index.js",
        ".cache/opencode/package.json",
        ".cache/opencode/packages/plugin/index.js",
        ".config/opencode/AGENTS.md",
        ".config/opencode/agent/a.md",
        ".config/opencode/opencode.json",
        ".local/share/opencode/auth.json",
        ".config/opencode/plugin/p.js",
        ".local/share/opencode/bin/server",
        ".local/share/opencode/opencode.db",
        ".local/share/opencode/repos/r/x",
        ".local/share/opencode/snapshot/p/config",
        ".local/share/opencode/storage/session/s.json",
        ".local/share/opencode/worktree/x",
        ".local/state/opencode/kv.json",
    ],
    "amp": [
        ".cache/amp/bin/rg",
        ".config/amp/AGENTS.md",
        ".config/amp/settings.json",
        ".config/amp/plugins/p.ts",
        ".local/share/amp/bin/tool",
        ".local/share/amp/session.json",
        ".local/share/amp/threads/t.json",
    ],
}

EVIL = """
import os, shutil, sys
home = os.path.expanduser("~")
def attempt(action, *arguments):
    try:
        action(*arguments)
    except OSError:
        pass
def write(path, flags):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, flags) as file:
        file.write("evil")
for name in sys.argv[1:]:
    path = os.path.join(home, name)
    for flags in ("a", "w"):
        attempt(write, path, flags)
    attempt(write, path + ".new", "w")
    attempt(os.rename, path + ".new", path)
    attempt(os.chmod, path, 0o777)
    attempt(os.unlink, path)
    attempt(os.symlink, "/tmp/evil", path)
    attempt(os.link, "/etc/passwd", path + ".link")
    for folder in (os.path.dirname(path), os.path.join(home, *name.split("/")[:1])):
        attempt(os.rename, folder, folder + ".away")
        attempt(write, path, "w")
        attempt(shutil.rmtree, folder)
        attempt(write, path, "w")
"""


def snapshot(folder: Path) -> dict[str, str]:
    """Each file below with its mode and content, each link with where it leads."""
    found = {}
    for top, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(top, name)
            what = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
            found[str(path.relative_to(folder))] = f"{path.lstat().st_mode:o} {what}"
    return found


def fill(home: Path, names: list[str]) -> None:
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(f"mine: {name}")


def test_every_agent_is_in_the_table() -> None:
    stateful = {name for name in known_agents() if facts_of(name).needs.state}
    assert stateful == OBEYED.keys()


@pytest.mark.parametrize("agent", OBEYED)
@pytest.mark.parametrize("exists", [True, False])
def test_what_the_users_sessions_obey_cannot_be_changed(
    sandboxed: Sandboxed, own_home: Path, agent: str, exists: bool
) -> None:
    if exists:
        fill(own_home, OBEYED[agent])
    for name in facts_of(agent).needs.state:
        (own_home / name).mkdir(parents=True, exist_ok=True)
    sandboxed.programs = (agent,)
    before = snapshot(own_home)
    for _ in range(2):
        sandboxed.python(EVIL, *OBEYED[agent])
    assert snapshot(own_home) == before


@pytest.mark.parametrize("agent", OBEYED)
def test_what_the_user_has_set_up_is_seen(sandboxed: Sandboxed, own_home: Path, agent: str) -> None:
    needs = facts_of(agent).needs
    fill(own_home, OBEYED[agent])
    own = [name for name in OBEYED[agent] if name.startswith((*needs.state, *needs.readonly, *needs.copied))]
    sandboxed.programs = (agent,)
    script = 'for name; do cat ~/"$name" 2>/dev/null; done'
    output = sandboxed.shell(script, *own)
    assert [name for name in own if f"mine: {name}" in output] == [
        name for name in own if not is_private(agent, name)
    ]


def is_private(agent: str, name: str) -> bool:
    """Begins empty: where it works, and its sessions, which are not the user's."""
    needs = facts_of(agent).needs
    parts = name.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    sessions = [kept for kept in needs.sessions if kept not in needs.state]
    return any(fnmatchcase(path, pattern) for path in above for pattern in (*needs.scratch, *sessions))


@pytest.mark.parametrize("agent", OBEYED)
def test_sessions_are_kept_for_later_ones_and_a_renewed_login_for_the_user(
    sandboxed: Sandboxed, own_home: Path, agent: str
) -> None:
    needs = facts_of(agent).needs
    fill(own_home, [*needs.login])
    sandboxed.programs = (agent,)
    script = """
        for name in $1; do mkdir -p ~/"$name/deep"; echo said > ~/"$name/deep/s.jsonl"; done
        for name in $2; do echo renewed > ~/"$name"; done
    """
    sandboxed.shell(script, " ".join(needs.sessions), " ".join(needs.login))
    output = sandboxed.shell('for name in $1; do cat ~/"$name/deep/s.jsonl"; done', " ".join(needs.sessions))
    assert output == "said\n" * len(needs.sessions)
    assert [(own_home / name).read_text() for name in needs.login] == ["renewed\n"] * len(needs.login)
    assert not list(own_home.rglob("s.jsonl"))


def test_files_are_copies_that_may_be_replaced_and_scripts_stay_scripts(
    sandboxed: Sandboxed, own_home: Path
) -> None:
    fill(own_home, [".claude.json", ".claude/settings.json"])
    script = own_home / ".claude" / "status.sh"
    script.write_text("#!/bin/sh\necho status\n")
    script.chmod(0o755)
    (own_home / ".claude" / "large.json").write_text("x" * 2_000_000)
    sandboxed.programs = ("claude",)
    output = sandboxed.shell("""
        cd ~/.claude && ./status.sh
        for name in .claude.json .claude/settings.json; do
            echo own > ~/$name.new && mv ~/$name.new ~/$name && cat ~/$name
        done
        wc -c < large.json; touch new && echo made
    """)
    assert output == "status\nown\nown\n2000000\nmade\n"
    assert not (own_home / ".claude" / "new").exists()


@pytest.mark.parametrize("part", ["", "settings.json", "skills"])
def test_settings_that_are_links_are_found_and_safe(sandboxed: Sandboxed, own_home: Path, part: str) -> None:
    real = own_home / "dotfiles" / "claude"
    fill(real, ["settings.json", "skills/s/SKILL.md"])
    if part:
        (own_home / ".claude").mkdir()
        (own_home / ".claude" / part).symlink_to(real / part)
    else:
        (own_home / ".claude").symlink_to("dotfiles/claude")
    sandboxed.programs = ("claude",)
    shown = {"": "settings.json", "skills": "skills/s/SKILL.md"}.get(part, part)
    assert sandboxed.shell('cat ~/.claude/"$1"', shown) == f"mine: {shown}"
    before = snapshot(own_home)
    names = [
        f"{top}/{name}" for top in (".claude", "dotfiles/claude") for name in (shown, "hooks/h", "CLAUDE.md")
    ]
    sandboxed.python(EVIL, *names)
    assert snapshot(own_home) == before


def test_settings_that_the_workspace_holds_are_read_only_there(sandboxed: Sandboxed, own_home: Path) -> None:
    workspace = sandboxed.workspace
    fill(workspace, ["claude/settings.json", "vimrc"])
    (own_home / ".claude").symlink_to(workspace / "claude")
    sandboxed.programs = ("claude",)
    sandboxed.shell(
        "echo evil > claude/settings.json; echo evil > claude/CLAUDE.md; mv claude c2; echo own > vimrc"
    )
    assert snapshot(workspace / "claude").keys() == {"settings.json"}
    assert (workspace / "claude" / "settings.json").read_text() == "mine: claude/settings.json"
    assert (workspace / "vimrc").read_text() == "own\n"


def test_a_workspace_in_the_agents_state_is_refused(sandboxed: Sandboxed, own_home: Path) -> None:
    plugin = own_home / ".claude" / "plugins" / "mine"
    plugin.mkdir(parents=True)
    git(plugin, "init", "-q")
    sandboxed.workspace = plugin
    sandboxed.programs = ("claude",)
    with pytest.raises(ConfigError, match="part of what your own agents run"):
        sandboxed.run("true")


@pytest.mark.parametrize("name", ["sessions", "sessions/.claude+projects"])
def test_a_repository_cannot_choose_where_sessions_are_kept(
    sandboxed: Sandboxed, own_home: Path, name: str
) -> None:
    link = sandboxed.workspace / ".ralph" / name
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(own_home / ".ssh")
    sandboxed.programs = ("claude",)
    with pytest.raises(ConfigError, match="would write its sessions there"):
        sandboxed.run("true")
    assert [path.name for path in (own_home / ".ssh").iterdir()] == ["id_ed25519"]
