"""The settings of the sandbox, and two kinds of values that only they use."""

from __future__ import annotations

from typing import cast

from ralph.config.kinds import Choice, Kind, ListOf, Nullable, Reading, Text, Whole, setting
from ralph.config.untrusted import FEWER, lower_than_usual, rising
from ralph.domain.sandbox.kind import ASKABLE, Network, is_as_strong
from ralph.values import dataclass


class Host(Kind[str]):
    """A host on the allow-list."""

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
    """Bytes, optionally with a unit; None for the usual limit, 0 for none."""

    expected = "a size such as 512m or 4g (null: the usual one, 0: no limit)"

    def read(self, value: object, at: Reading) -> int | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str):
            return cast(None, at.unexpected(value, self.expected))
        if str(value).strip() == "0":
            return 0
        from ralph.domain.sandbox.policy import parse_size

        try:
            return parse_size(str(value))
        except ValueError:
            return cast(None, at.unexpected(value, self.expected))

    def json_schema(self) -> dict[str, object]:
        pattern = r"^\s*0\s*$|^\s*0*[1-9][0-9]{0,14}\s*[kKmMgGtT]?([iI]?[bB])?\s*$"
        text = {"type": "string", "pattern": pattern}
        return {"anyOf": [text, {"type": "integer", "minimum": 0}, {"type": "null"}]}


def _sizes(what: str) -> dict[object, str]:
    """The two values of a limit that are no number."""
    none = f"sets no limit of {what}"
    return {None: f"sets the usual limit of {what}", 0: none, "0": none}


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """How the agent, which has all permissions, is confined."""

    kind: str | None = setting(
        Nullable(Choice(*ASKABLE)),
        None,
        "The sandbox to use; `auto`: the strongest that works here; null: `auto` for `plan run`, otherwise `none`.",
        untrusted=is_as_strong,
        means="sets the sandbox to",
        says={"none": "switches the sandbox off", None: "leaves the sandbox to each command"},
    )
    network: Network = setting(
        Choice(*Network),
        Network.ALLOW,
        "`allow`: only the agent's own service and the hosts in `sandbox.allow`; `off`: nothing at all.",
        untrusted=rising(Network.ALLOW, Network.OFF),
        means="sets the network to",
        says={"allow": "opens the network to the agent's own service"},
    )
    allow: tuple[str, ...] = setting(
        ListOf(Host(), of="hosts"),
        (),
        "Hosts that may be reached; `*.` before a domain covers all its subdomains, `:port` after it replaces 80 and 443.",
        untrusted=FEWER,
        means="opens the network to",
    )
    writable: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="paths"),
        (),
        "Writable paths besides the workspace; relative ones start there, `~/` at your home folder.",
        untrusted=FEWER,
        means="lets the agent write",
    )
    readonly: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="paths"),
        (),
        "Paths in your home folder that may be read; the rest is hidden.",
        untrusted=FEWER,
        means="lets the agent read",
    )
    env: tuple[str, ...] = setting(
        ListOf(Text(filled=True), of="names"),
        (),
        "Environment variables to pass besides the usual ones; `*` matches any part of a name.",
        untrusted=FEWER,
        means="lets the agent see your variables",
    )
    memory: int | None = setting(
        Size(),
        None,
        "Memory it may use; null: three quarters of this machine's, if a control group can limit that; 0: no limit.",
        untrusted=lower_than_usual(2 * 2**30),
        means="sets the limit of memory to",
        says=_sizes("memory"),
    )
    pids: int | None = setting(
        Nullable(Whole(minimum=0)),
        None,
        "Processes and threads at a time; null: 4096, or 64 for each processor; 0: no limit.",
        untrusted=lower_than_usual(4096),
        means="sets the limit of processes to",
        says=_sizes("processes"),
    )
    file_size: int | None = setting(
        Size(),
        None,
        "Size of a file it may write; null: half of what is free on the workspace's disk; 0: no limit.",
        untrusted=lower_than_usual(2**30),
        means="sets the limit of a file's size to",
        says=_sizes("a file's size"),
    )
    image: str | None = setting(
        Nullable(Text(filled=True)),
        None,
        "For `container`: an image that contains the agent.",
        means="runs the agent in the image",
        says={None: "runs the agent in no image"},
    )
