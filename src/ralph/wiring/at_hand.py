"""What decides about a run is loaded before the first agent of the process starts.

An agent may be able to write where ralph is installed, and ralph may be upgraded while it works through the night: what is
read from disk after a session is not what the user has started. So whatever judges, masks, records or commits is named here,
unless that which starts the run imports it anyway. Later come only the faces, which show what was decided, and what the
start-up itself would have loaded if the settings asked for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from ralph.adapters.agents.registry import facts_of
from ralph.adapters.processes.sign_search import load_library
from ralph.agent_names import ACP
from ralph.config.schema import Settings
from ralph.domain.delivery.kind import DeliveryKind
from ralph.wiring.agents import kind_of
from ralph.wiring.launch import Launch

OF_EVERY_RUN = (
    "ralph.adapters.agents.faults",
    "ralph.adapters.agents.installed_version",
    "ralph.adapters.agents.loopback",
    "ralph.adapters.agents.wording",
    "ralph.adapters.git_pipes",
    "ralph.adapters.storage.quota_rows",
    "ralph.adapters.storage.streams",
    "ralph.domain.agent.drift",
    "ralph.domain.agent.prices",
    "ralph.domain.agent.reset_time",
    "ralph.domain.loop.old_files",
    "ralph.domain.views.receipt",
)
_PURE_SEARCH = "ralph.domain.text.secret_sieve"
OF_ACP = (
    "ralph.adapters.agents.acp.conversation",
    "ralph.adapters.processes.conversation_input",
)
OF_PROOF = (
    "ralph.adapters.checks.commands",
    "ralph.adapters.workspace.earlier_base",
    "ralph.adapters.workspace.own_edits",
    "ralph.adapters.workspace.plain_texts",
    "ralph.adapters.workspace.proof_store",
    "ralph.adapters.workspace.undo_patch",
    "ralph.domain.proof.failures.search",
    "ralph.domain.proof.inner_tests",
    "ralph.domain.proof.leaning",
    "ralph.domain.proof.tests_ran",
    "ralph.domain.proof.weakened_tests",
    "ralph.engine.guardrail",
    "ralph.engine.proof.accepted_commit",
    "ralph.engine.proof.canary_check",
    "ralph.engine.proof.canary_words",
    "ralph.engine.proof.changed_tests",
    "ralph.engine.proof.commit_guard",
    "ralph.engine.proof.comparison",
    "ralph.engine.proof.following",
    "ralph.engine.proof.layers",
    "ralph.engine.proof.left_changes",
    "ralph.engine.proof.own_checks",
    "ralph.engine.proof.planting",
    "ralph.engine.proof.proving",
    "ralph.engine.proof.tests_review",
)
OF_DELIVERY = (
    "ralph.adapters.checks.merge_state",
    "ralph.adapters.forges.choice",
    "ralph.adapters.forges.git_login",
    "ralph.adapters.processes.yielding",
    "ralph.adapters.signals.probes",
    "ralph.adapters.storage.deliveries",
    "ralph.adapters.workspace.delivered_branch",
    "ralph.adapters.workspace.nested_repositories",
    "ralph.adapters.workspace.outpost",
    "ralph.adapters.workspace.push_target",
    "ralph.domain.delivery.facts",
    "ralph.domain.delivery.memory",
    "ralph.domain.delivery.receipt",
    "ralph.domain.delivery.texts",
    "ralph.engine.agents.per_role",
    "ralph.engine.delivery.delivery",
    "ralph.engine.delivery.fix_session",
    "ralph.engine.delivery.kept_ci",
    "ralph.engine.delivery.order",
    "ralph.engine.delivery.work",
    "ralph.engine.tally",
    "ralph.wiring.delivery",
)
OF_RUNS = {
    "plan_run": (*OF_PROOF, "ralph.adapters.workspace.committed_work"),
    "ship_run": (*OF_PROOF, *OF_DELIVERY),
    "work_run": (
        *OF_PROOF,
        "ralph.adapters.storage.deliveries",
        "ralph.domain.delivery.receipt",
        "ralph.domain.tickets.told",
        "ralph.wiring.merge_check",
        "ralph.wiring.runs.task_run",
        "ralph.wiring.task_delivery",
    ),
}
"""Of kinds of runs that prove by more than the guardrails, by ``Profile.run``."""


def load_what_decides(launch: Launch) -> None:
    """To be called when the watcher has been started: nothing else can be, before it is ready, and that takes longer."""
    for name in (*_needed(launch), *OF_EVERY_RUN):
        import_module(name)
    if load_library() is None:
        import_module(_PURE_SEARCH)
    kinds = {kind_of(launch.settings, command) for command in _agents(launch.settings)}
    for kind in kinds:
        facts_of(kind)
    if ACP in kinds:
        for name in OF_ACP:
            import_module(name)


def _needed(launch: Launch) -> Iterator[str]:
    yield from OF_RUNS.get(launch.profile.run, ())
    if launch.guardrails:
        yield from OF_PROOF
    if launch.settings.delivery == DeliveryKind.PR:
        yield from OF_DELIVERY


def _agents(settings: Settings) -> Iterator[str]:
    """Also those who only judge, or who only stand in: their adapters read what decides."""
    verified = settings.profiles.verified
    yield from settings.agent.fallbacks
    yield from (role.agent for role in verified.roles.values() if role.agent)
    if verified.semantic_agent:
        yield verified.semantic_agent
    yield settings.agent.command
