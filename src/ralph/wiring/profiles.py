"""The kinds of loop: their values in ``profiles/*.toml``, and who plans a run of each."""

from __future__ import annotations

import importlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ralph.config.root import Root
from ralph.config.schema import Settings
from ralph.config.sources import Flag
from ralph.domain.loop.decision import Acceptance
from ralph.domain.loop.profile import Profile
from ralph.errors import UsageError
from ralph.wiring.launch import Plan

PLANNERS = {
    "basic": "prompt_run",
    "promise": "prompt_run",
    "verified": "work_run",
    "reviewed": "plan_run",
    "draft": "draft_run",
    "supervised": "supervised_run",
}
"""Profile → the module in ``runs`` whose ``plan_again`` makes a run of it from its arguments."""


class Planner(Protocol):
    def __call__(
        self,
        profile: Profile,
        arguments: Mapping[str, object],
        settings: Settings,
        root: Root,
        *,
        flags: Sequence[Flag],
        resumes: str,
    ) -> Plan: ...


FOLDER = Path(__file__).parent.with_name("profiles")


def known_profiles() -> list[str]:
    return sorted(
        entry.name.removesuffix(".toml") for entry in FOLDER.iterdir() if entry.name.endswith(".toml")
    )


def load_profile(name: str) -> Profile:
    known = known_profiles()
    if name not in known:
        message = f"unknown profile {name!r}"
        raise UsageError(message, hint=f"known profiles: {', '.join(known)}")
    data = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return Profile(**{**data, "acceptance": Acceptance(data["acceptance"])})


def plan_again(
    name: str,
    arguments: Mapping[str, object],
    settings: Settings,
    root: Root,
    *,
    flags: Sequence[Flag],
    resumes: str,
) -> Plan:
    """The plan of a run that is to go on, from what ``request.json`` says about it."""
    profile = load_profile(name)
    module = importlib.import_module(f"ralph.wiring.runs.{PLANNERS[name]}")
    planner: Planner = module.plan_again
    return planner(profile, arguments, settings, root, flags=flags, resumes=resumes)
