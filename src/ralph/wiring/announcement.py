"""What a run tells before it begins: how claims are proven, and every command that it will start because somebody's
settings say so, and whose: a repository brings settings along."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph.adapters.own_programs import OwnPrograms
from ralph.domain.proof.policy import ProofPolicy
from ralph.domain.proof.strength import Proof
from ralph.wiring.launch import Launch

BUILT_IN_NOTIFIERS = ("bell", "desktop")


def named_commands(launch: Launch) -> Iterator[str]:
    """The agent itself is named by the head of the run."""
    settings, loaded = launch.settings, launch.loaded
    place: tuple[str, ...] = ("guardrails",)
    own = ("profiles", launch.profile.name, "guardrails")
    if launch.profile.own_guardrails and _commands_at(loaded.merged.values, own):
        place = own
    configured = _commands_at(loaded.without_flags.values, place)
    for guardrail in launch.guardrails:
        # A flag adds to the list, so each entry is looked up by itself.
        named_by = loaded.without_flags if guardrail.command in configured else loaded.merged
        yield f"guardrail: {guardrail.command} ({named_by.origin(place)})"
    if settings.scm is not None and launch.profile.uses_scm:
        for task in settings.scm.tasks:
            yield f"scm: {settings.scm.command} {task} ({loaded.origin('scm.tasks')})"
    for how in settings.notify:
        if how not in BUILT_IN_NOTIFIERS and not how.startswith(("http://", "https://")):
            yield f"notify: {how} ({loaded.origin('notify')})"


def places_of(launch: Launch) -> Iterator[str]:
    """Where settings come from, if not from the folder that the agent works in; a part leaves that to the whole."""
    root = launch.root
    if not launch.parent_id and root.state != root.workspace:
        yield f"this is a worktree: settings, tasks and the record are those of {root.state}"


def proof_policy(launch: Launch, own: OwnPrograms, *, has_commands: bool) -> ProofPolicy | None:
    """How claims are proven; None without ``has_commands``, for then nothing is."""
    if not has_commands:
        return None
    settings = launch.settings
    strength = settings.proof if own.find("git") is not None else Proof.TRUSTING
    return ProofPolicy(str(strength), str(settings.tests), tuple(settings.allow_test_changes))


def _commands_at(values: object, path: tuple[str, ...]) -> set[object]:
    """The commands of a list of guardrails, which are texts or objects with one."""
    for key in path:
        values = values.get(key) if isinstance(values, Mapping) else None
    entries = values if isinstance(values, list) else []
    return {entry.get("command") if isinstance(entry, Mapping) else entry for entry in entries}
