"""Trust a project: what it asks for, whether its user has agreed, and remember that they do."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ralph.domain.trust.demand import AGREED_RECORDS, digest_of
from ralph.domain.trust.demand import Demand as Demand
from ralph.operations.agreement import inherited, is_waived, not_agreed
from ralph.values import dataclass

if TYPE_CHECKING:
    from ralph.config.loading import Loaded as Loaded
    from ralph.config.loading import Sources as Sources
    from ralph.config.root import Root

STATE_FOLDER = ".ralph"
RECORDS_MEAN = "has records of runs and tasks that ralph cannot tell from a stranger's, as after an upgrade, a move or a copy:"
TRACKED_MEAN = (
    "has records that came by git, or that a pull replaces with others'; to end that: git rm -r --cached"
)


@dataclass(frozen=True, slots=True)
class Standing:
    """``asked``: all that the project asks for; ``new``: what nobody has agreed to.

    ``was_trusted``: some of the settings were agreed to before. A task that the user typed is no such agreement.
    """

    project: Path
    asked: tuple[Demand, ...] = ()
    new: tuple[Demand, ...] = ()
    was_trusted: bool = False

    @property
    def delivers(self) -> bool:
        """It is asked about on behalf of a run that pushes."""
        from ralph.domain.trust.pushed_to import PUSHES

        return any(demand.means == PUSHES for demand in self.asked)

    @property
    def is_trusted(self) -> bool:
        return not self.new


def standing_of(
    settings: Loaded | Sources,
    workspace: Path,
    more: Sequence[Demand] = (),
    *,
    usual_sandbox: str = "",
    environ: Mapping[str, str] = os.environ,
) -> Standing:
    """``workspace``: where the agent works, another place than that of the settings in a worktree. ``more``: what it asks
    for besides its settings. Runs and writes nothing.

    ``usual_sandbox``: what this command does unless told otherwise; empty: any command is meant.
    """
    from ralph.adapters.git_demands import git_demands

    root = settings.root
    asked = [*more, *git_demands(root, workspace), *tracked_records(root, environ)]
    if settings.project.values:
        from ralph.config.demands import demands_of

        asked += demands_of(settings.project, settings.own, usual_sandbox=usual_sandbox)
        asked.sort(key=lambda demand: not demand.means.startswith("runs"))  # what matters most comes first
    records = strange_records(root, environ)
    if not asked and not records:
        return Standing(project=root)
    new = not_agreed(os.path.realpath(root), asked, environ)
    was_trusted = any(demand.place and demand not in new for demand in asked)
    return Standing(project=root, asked=(*asked, *records), new=(*new, *records), was_trusted=was_trusted)


def read_agreed(root: Root, *, environ: Mapping[str, str] = os.environ) -> tuple[Sources, Standing]:
    """The settings without what nobody has agreed to, for whoever must work in an untrusted project too."""
    from ralph.config.loading import Sources

    sources, standing = Sources.read(root.state, environ), Standing(project=root.state)
    if not is_waived(environ):
        standing = standing_of(sources, root.workspace, environ=environ)
    return sources.without([demand.place for demand in standing.new if demand.place]), standing


def plan_asks(root: Root, ralph_dir: Path | None = None) -> tuple[Demand, ...]:
    """What the project's plan wants to run; nothing if there is none that can be read.

    ``ralph_dir``: another plan of it. Raises RalphError if that one cannot be read.
    """
    from ralph.domain.plan.demands import plan_demands
    from ralph.errors import RalphError
    from ralph.operations.plans import find_plan

    try:
        plan = find_plan(root, ralph_dir)
        return plan_demands(plan.document(), plan.name)
    except RalphError:
        if ralph_dir is not None:
            raise
        return ()


def scm_asks(root: Root, loaded: Loaded) -> tuple[Demand, ...]:
    """What the repository makes the commands of ``scm`` run."""
    from ralph.wiring.requirements import scm_demands

    return scm_demands(loaded.settings, root.workspace)


def delivery_asks(root: Root, loaded: Loaded, *, delivers: bool = False) -> tuple[Demand, ...]:
    """Where the repository makes a run push that delivers, and what that runs. ``delivers``: whatever the settings say."""
    from ralph.domain.delivery.kind import DeliveryKind
    from ralph.values import replace
    from ralph.wiring.requirements import delivery_demands

    settings = replace(loaded.settings, delivery=DeliveryKind.PR) if delivers else loaded.settings
    return delivery_demands(settings, root.workspace)


def tasks_ask(root: Root) -> tuple[Demand, ...]:
    """What the project's tasks want to run, and its worktrees to see. Raises StoreError if the record cannot be read."""
    from ralph.adapters.storage.task_demands import demands_of_tasks
    from ralph.adapters.workspace.worktree_includes import include_demands
    from ralph.config.root import git_top

    top = git_top(root.workspace) or root.workspace
    return (*demands_of_tasks(root.state / STATE_FOLDER), *include_demands(top))


def agree(root: Path, demands: Sequence[Demand]) -> None:
    """The user has seen these, or typed them. If that cannot be remembered, there will be a question."""
    from ralph.errors import StoreError

    with suppress(StoreError):
        trust(Standing(project=root, asked=tuple(demands)))


def strange_records(root: Path, environ: Mapping[str, str]) -> tuple[Demand, ...]:
    """The record of runs and tasks, unless ralph wrote it here, or we are a part of a run here."""
    from ralph.adapters.trust_store import is_sealed, records_in

    folder = str(root / STATE_FOLDER)
    found = records_in(folder)
    if not found or _are_inherited(root, environ) or is_sealed(folder, environ):
        return ()
    return (Demand(RECORDS_MEAN, ", ".join(found), "", STATE_FOLDER),)


def tracked_records(root: Path, environ: Mapping[str, str]) -> tuple[Demand, ...]:
    """Those that git wrote, or may at the next pull: a seal says nothing of them. A yes counts until git has others."""
    from ralph.adapters.trust_store import records_in

    if not records_in(str(root / STATE_FOLDER)) or _are_inherited(root, environ):
        return ()
    from ralph.adapters.git_index import tracked_below
    from ralph.domain.trust.seal import LOGS, RECORDS

    # Of the logs git's own are never used. Nothing below: git tracks the folder as a whole.
    known = {"", *(name.lower() for name in RECORDS - LOGS)}
    found = tracked_below(root / STATE_FOLDER)
    tracked = [one for one in found if one.path.partition("/")[0].lower() in known]
    if not tracked:
        return ()
    names = sorted({f"{STATE_FOLDER}/{one.path.partition('/')[0]}".rstrip("/") for one in tracked})
    whole = json.dumps(sorted((one.path, one.content) for one in tracked))
    return (Demand(TRACKED_MEAN, " ".join(names), "", STATE_FOLDER, whole=whole),)


def _are_inherited(root: Path, environ: Mapping[str, str]) -> bool:
    """We are a part of a run here."""
    return digest_of(os.path.realpath(root), AGREED_RECORDS) in inherited(environ)


def trust(standing: Standing, *, environ: Mapping[str, str] = os.environ) -> None:
    """Remember it. Raises StoreError if there is no place for that."""
    from ralph.adapters import trust_store
    from ralph.errors import StoreError

    project, folder = os.path.realpath(standing.project), str(standing.project / STATE_FOLDER)
    has_records = RECORDS_MEAN in (demand.means for demand in standing.new)
    agreed = list(standing.asked)
    if has_records:
        from ralph.adapters.storage.request_marks import strange_requests

        agreed += (AGREED_RECORDS, *strange_requests(standing.project / STATE_FOLDER, environ))
    try:
        trust_store.remember(project, [digest_of(project, demand) for demand in agreed], environ)
        if has_records:
            trust_store.seal(folder, environ)
    except OSError as error:
        message = f"cannot remember that {standing.project} is trusted: {error.strerror or error}"
        raise StoreError(message, hint="check HOME and XDG_STATE_HOME, or use --trust this once") from error


def revoke(root: Path, *, environ: Mapping[str, str] = os.environ) -> None:
    """Ask again about everything but the records that ralph itself wrote here. Raises StoreError if that cannot be written."""
    from ralph.adapters import trust_store
    from ralph.errors import StoreError

    project = os.path.realpath(root)
    try:
        if digest_of(project, AGREED_RECORDS) in trust_store.trusted_digests(project, environ):
            trust_store.unseal(str(root / STATE_FOLDER))
        trust_store.forget(project, environ)
    except OSError as error:
        message = f"cannot forget that {root} is trusted: {error.strerror or error}"
        raise StoreError(message, hint="check HOME, XDG_STATE_HOME and the permissions there") from error


def trust_written(root: Path, document: Mapping[str, object]) -> None:
    """What ralph wrote for its user needs no question."""
    from ralph.config.demands import demands_of
    from ralph.config.loading import Sources
    from ralph.config.sources import SETTINGS_FILE, Layer, Origin, stack

    written = stack([Layer(Origin(SETTINGS_FILE), document)])
    agree(root, demands_of(written, Sources.read(root, os.environ).own))
