"""The settings of the sandbox, and the two kinds of values that only they have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ralph.config.kinds import Choice, Kind, ListOf, Nullable, Reading, Text, Whole, setting
from ralph.domain.sandbox.kind import ASKABLE, Network


class Host(Kind[str]):
    """A host as the allow-list has it."""

    expected = "a host such as example.com, *.example.com or 192.0.2.7:8080"

    def read(self, value: object, at: Reading) -> str:
        if not isinstance(value, str):
            return cast(str, at.unexpected(value, self.expected))
        from ralph.domain.sandbox.allow_list import parse_rule

        try:
            parse_rule(value)
        except ValueError as error:
            return cast(str, at.wrong(f"{value!r} {error}"))
        return value

    def json_schema(self) -> dict[str, object]:
        return {"type": "string"}


class Size(Kind[int | None]):
    """So many bytes, with a unit if wanted; None for no limit."""

    expected = "a size such as 512m or 4g (null: no limit)"

    def read(self, value: object, at: Reading) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str):
            return cast(None, at.unexpected(value, self.expected))
        from ralph.domain.sandbox.policy import parse_size

        try:
            return parse_size(str(value))
        except ValueError:
            return cast(None, at.unexpected(value, self.expected))

    def json_schema(self) -> dict[str, object]:
        pattern = r"^\s*0*[1-9][0-9]{0,14}\s*[kKmMgGtT]?([iI]?[bB])?\s*$"
        return {
            "anyOf": [
                {"type": "string", "pattern": pattern},
                {"type": "integer", "minimum": 1},
                {"type": "null"},
            ]
        }


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """Where the agent, which has all permissions, is confined to."""

    kind: str | None = setting(
        Nullable(Choice(*ASKABLE)),
        None,
        "The sandbox to use; `auto`: the strongest that works here; null: `auto` for `plan run`, else `none`.",
    )
    network: Network = setting(
        Choice(*Network),
        Network.ALLOW,
        "`allow`: only the agent's own service and the hosts in `sandbox.allow`; `off`: nothing at all.",
    )
    allow: tuple[str, ...] = setting(
        ListOf(Host(), of="hosts"),
        (),
        "Hosts that may be reached; `*.` before a domain for all below it, `:port` behind it if it is not 80 or 443.",
    )
    writable: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="paths"),
        (),
        "Paths that are writable besides the workspace; relative ones start there, `~/` at your home.",
    )
    readonly: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="paths"),
        (),
        "Paths in your home that may be read; the rest of it is hidden.",
    )
    env: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="names"),
        (),
        "Environment variables that are let in besides the usual ones; `*` stands for any part of a name.",
    )
    memory: int | None = setting(Size(), None, "Memory it may use; null: any.")
    pids: int | None = setting(
        Nullable(Whole(minimum=1)), None, "Processes and threads at a time; null: any number."
    )
    image: str | None = setting(
        Nullable(Text(filled=True)), None, "For `container`: the image, with the agent in it."
    )
