"""A launch within what the machine's owner allows: tighter settings as they are asked for, looser ones as the owner has them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ralph.config.loading import Sources
from ralph.config.schema import Settings
from ralph.config.tightening import tightened
from ralph.domain.fleet.allowance import allowed_kind, is_demanding, is_own_commit, places_outside
from ralph.domain.sandbox.kind import SandboxKind
from ralph.domain.text.safe_text import clean_line
from ralph.errors import UsageError
from ralph.values import replace
from ralph.wiring.launch import Launch
from ralph.wiring.requirements import is_delivered

OUTSIDE = ("sandbox_checks", "notify")
"""Settings besides those of the sandbox by which something runs outside it."""
SHIPS = "shipped"
"""The kind of run that delivers whatever the settings say."""
PLACES = ("promptFile", "ralphDir", "folder", "taskFolder")
"""Arguments of runs that name a place."""


def within_allowance(
    launch: Launch, demanded: str, *, repository: str = "", environ: Mapping[str, str] = os.environ
) -> Launch:
    """``demanded``: the sandbox, by the machine's owner. ``repository``: the address of the job's. Raises UsageError if the job
    reaches for what is not its own."""
    if not is_demanding(demanded):
        return launch
    _require_own_places(launch)
    sources = Sources.read(launch.loaded.root, environ)
    settings, refused = _confined(
        launch.settings, sources.of_machine(), demanded, usual=launch.profile.sandbox
    )
    settings, more = _delivered(launch, settings, sources.of_machine(launch.loaded.flags), repository)
    refused = (*refused, *more)
    return replace(
        launch,
        settings=settings,
        refused=tuple(
            f"{key}: this worker does not allow what the job asks for, so its own setting applies"
            for key in refused
        ),
    )


def _confined(
    asked: Settings, own: Settings, demanded: str, *, usual: str
) -> tuple[Settings, tuple[str, ...]]:
    kind = allowed_kind(demanded, asked.sandbox.kind or usual)
    # Its kind is not the owner's setting but their demand.
    sandbox, of_sandbox = tightened(replace(asked.sandbox, kind=None), replace(own.sandbox, kind=None))
    workspace, of_workspace = tightened(asked.workspace, own.workspace, only=("allow",))
    telemetry, of_telemetry = tightened(asked.telemetry, own.telemetry)
    settings, outside = tightened(asked, own, only=OUTSIDE)
    refused = [*(f"sandbox.{key}" for key in of_sandbox), *(f"workspace.{key}" for key in of_workspace)]
    refused += [f"telemetry.{key}" for key in of_telemetry]
    if asked.sandbox.kind == SandboxKind.NONE:
        refused.append("sandbox.kind")
    scm = asked.scm
    if scm is not None and scm != own.scm and not is_own_commit(scm.command, scm.tasks):
        scm = own.scm
        refused.append("scm")
    sandbox = replace(sandbox, kind=kind)
    settings = replace(settings, sandbox=sandbox, workspace=workspace, telemetry=telemetry, scm=scm)
    return settings, (*refused, *outside)


def _delivered(
    launch: Launch, asked: Settings, given: Settings, repository: str
) -> tuple[Settings, tuple[str, ...]]:
    """Delivering is done with the owner's login, so where to and how is for the owner to say, and whoever submitted the job,
    but not for the repository. ``given``: what they say."""
    of_delivery: tuple[str, ...] = ()
    if launch.profile.name != SHIPS:
        asked, of_delivery = tightened(asked, given, only=("delivery",))
        if not is_delivered(asked):
            return asked, of_delivery
    from ralph.adapters.forges.choice import is_same_repository

    pull, of_pull = tightened(asked.pull_request, given.pull_request)
    if pull.repository and not is_same_repository(pull.repository, repository):
        message = (
            f"pullRequest.repository is {clean_line(pull.repository)}, which is not the job's repository"
        )
        raise UsageError(message, hint="leave it out in the worker's own settings")
    refused = (*of_delivery, *(f"pullRequest.{key}" for key in of_pull))
    return replace(asked, pull_request=pull), refused


def _require_own_places(launch: Launch) -> None:
    own = [os.path.realpath(folder) for folder in (launch.root.state, launch.root.workspace)]
    clone = os.path.realpath(Path.cwd())
    outside = places_outside(own, [clone]) or places_outside(list(_places(launch)), own)
    if outside:
        message = f"{outside[0]} is outside the job's repository, and this worker keeps jobs to theirs"
        raise UsageError(message, hint="put what the job needs into its repository")


def _places(launch: Launch) -> Iterator[str]:
    named = (launch.composition.arguments().get(key) for key in PLACES)
    for place in (*named, *launch.writable):
        if isinstance(place, str | Path):
            yield os.path.realpath(launch.root.workspace / place)
