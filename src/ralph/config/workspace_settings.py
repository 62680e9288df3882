"""The settings of worktrees: what makes a new one able to build, and a kind of value that only they use."""

from __future__ import annotations

from typing import cast

from ralph.config.kinds import Kind, Limit, ListOf, Reading, Text, setting
from ralph.config.sandbox_settings import Host
from ralph.config.untrusted import ALWAYS, FEWER
from ralph.values import dataclass


class ShellLines(Kind[tuple[str, ...]]):
    """One command, or several in their order."""

    expected = "a command, or a list of commands"
    _lines = ListOf(Text(filled=True), of="commands")

    def read(self, value: object, at: Reading) -> tuple[str, ...]:
        if isinstance(value, str):
            return (value,) if value.strip() else ()
        if not isinstance(value, list):
            return cast("tuple[str, ...]", at.unexpected(value, self.expected))
        return self._lines.read(value, at)

    def json_schema(self) -> dict[str, object]:
        return {"anyOf": [{"type": "string"}, self._lines.json_schema()]}

    def parse(self, text: str) -> object:
        return self._lines.parse(text) if text.lstrip().startswith("[") else text

    def dump(self, value: tuple[str, ...]) -> object:
        return list(value)


class Inside(Text):
    """A path that stays in the project."""

    def read(self, value: object, at: Reading) -> str:
        path = super().read(value, at)
        if not path:
            return path
        from ralph.domain.proof.required_command import is_outside

        parts = {part for part in path.split("/") if part not in ("", ".")}
        if is_outside(path) or not parts or not parts.isdisjoint(("..", ".git", ".ralph")):
            return cast(str, at.wrong(f"{path!r} is not a folder inside the project that can be shared"))
        return path


@dataclass(frozen=True, slots=True)
class WorkspaceSettings:
    """What the worktrees of `ralph work` need before they can build: see docs/worktrees.md."""

    setup: tuple[str, ...] = setting(
        ShellLines(),
        (),
        "Run once in every new worktree, before any agent: a shell command, or a list of them. If one fails, `ralph work`"
        " cannot run (exit code 4).",
        means="runs in every new worktree",
        says={"": "runs nothing in new worktrees"},
    )
    share: tuple[str, ...] = setting(
        ListOf(Inside(filled=True), of="paths"),
        (),
        "Folders of your checkout that each worktree gets a copy of, such as `node_modules`. Not copied if the files that"
        " they were installed from differ there.",
        means="copies into worktrees",
    )
    teardown: tuple[str, ...] = setting(
        ShellLines(),
        (),
        "Run in a worktree before it is removed, for at most a minute: a shell command, or a list of them.",
        means="runs, before a worktree is removed,",
        says={"": "runs nothing before a worktree is removed"},
    )
    allow: tuple[str, ...] = setting(
        ListOf(Host(), of="hosts"),
        (),
        "Hosts that `setup` may reach in a sandbox, besides those in `sandbox.allow`: your registries. Agents may not.",
        untrusted=FEWER,
        means="opens the network, for the setup of worktrees, to",
    )
    timeout: float | None = setting(
        Limit(),
        1800.0,
        "Seconds each command of `setup` may take; null: no limit.",
        untrusted=ALWAYS,
    )
