"""The kinds of loop: their values in ``profiles/*.json``, and the module that prepares a run of each."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from ralph.config.loading import Loaded
from ralph.config.root import Root
from ralph.domain.loop.decision import Acceptance
from ralph.domain.loop.profile import Profile
from ralph.errors import UsageError
from ralph.wiring.launch import Launch


class PrepareAgain(Protocol):
    """``prepare_again`` of a module in ``wiring/runs``: the launch made again from its arguments."""

    def __call__(
        self,
        profile: Profile,
        arguments: Mapping[str, object],
        loaded: Loaded,
        root: Root,
        *,
        resumes: str,
    ) -> Launch: ...


FOLDER = Path(__file__).parent.with_name("profiles")


def known_profiles() -> list[str]:
    return sorted(
        entry.name.removesuffix(".json") for entry in FOLDER.iterdir() if entry.name.endswith(".json")
    )


def load_profile(name: str) -> Profile:
    known = known_profiles()
    if name not in known:
        message = f"unknown profile {name!r}"
        raise UsageError(message, hint=f"known profiles: {', '.join(known)}")
    data = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    return Profile(**{**data, "acceptance": Acceptance(data["acceptance"])})


def prepare_again(
    name: str,
    arguments: Mapping[str, object],
    loaded: Loaded,
    root: Root,
    *,
    resumes: str,
) -> Launch:
    """The launch of a run that is resumed, from what its ``request.json`` says."""
    profile = load_profile(name)
    module = importlib.import_module(f"ralph.wiring.runs.{profile.run}")
    prepare: PrepareAgain = module.prepare_again
    return prepare(profile, arguments, loaded, root, resumes=resumes)
