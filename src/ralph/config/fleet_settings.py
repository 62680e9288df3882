"""The settings of a fleet's worker: what this machine gives to jobs."""

from __future__ import annotations

from collections.abc import Mapping

from ralph.config.kinds import COUNT, STRINGS, Choice, Named, Text, YesNo, setting
from ralph.domain.sandbox.kind import ASKABLE, AUTO, STRONGEST
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class FleetSettings:
    """`ralph fleet worker`, in your own settings only: what a repository says here is not looked at."""

    home: str = setting(
        Text(),
        "",
        "The folder with the worker's clones; empty: `~/.local/state/ralph/fleet/NAMESPACE`.",
    )
    slots: int | None = setting(
        COUNT,
        None,
        "Sessions at a time; null: one for two cores.",
    )
    labels: tuple[str, ...] = setting(
        STRINGS,
        (),
        "What this machine has that jobs may ask for, such as `linux` or `gpu`.",
    )
    sandbox: str = setting(
        Choice(*(kind for kind in ASKABLE if kind != AUTO)),
        STRONGEST,
        "The sandbox that jobs run in at least; `none`: jobs can do whatever you can.",
    )
    repositories: tuple[str, ...] = setting(
        STRINGS,
        (),
        "The repositories that jobs may be about, as patterns such as `https://github.com/acme/*`; empty: any that this"
        " machine can reach.",
    )
    accounts: Mapping[str, str] = setting(
        Named(Text(filled=True)),
        {},
        "The account of an agent's login on this machine, by the agent's name, for limits over all machines; by default"
        " all machines share one, named like the agent.",
    )
    metrics: str = setting(
        Text(),
        "",
        "The address that serves metrics for Prometheus, such as `127.0.0.1:9464`; empty: none.",
    )
    show: bool = setting(
        YesNo(),
        False,
        "Show the fleet's jobs in `ralph web` and `ralph ui`, as `--fleet` does.",
    )
