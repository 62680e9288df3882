"""Which values of a repository need its user's trust: a rule over the declarations of the settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.config.demands import demands_of
from ralph.config.kinds import ListOf, Named, Nullable, Setting, Table
from ralph.config.schema import SETTINGS
from ralph.config.sources import Layer, Origin, stack
from ralph.config.untrusted import ALWAYS, NEVER
from ralph.domain.trust.demand import Demand, digest_of

FREE = [
    "agent.timeout",
    "agent.idleTimeout",
    "agent.continueSession",
    "guardrails[].failAction",
    "guardrails[].hint",
    "guardrails[].timeout",
    "guardrails[].keep",
    "guardrails[].name",
    "guardrailTimeout",
    "guardrailIdleTimeout",
    "completionResponse",
    "completionHint",
    "outputTruncateChars",
    "streamAgentOutput",
    "includeIterationCountInPrompt",
    "ledger",
    "truncation",
    "workspace.timeout",
    "output",
    "scm.timeout",
    "limits.waitForLimits",
    "pullRequest.answerReviews",
    "pullRequest.draft",
    "pullRequest.wait",
    "projects.remember",  # only the user's own counts
    "fleet",  # only the user's own counts
    "profiles.promise.completionPromise",
    "profiles.supervised.restartDelay",
    "profiles.supervised.waitTimeout",
    "profiles.supervised.pollInterval",
    "profiles.supervised.agentTimeout",
    "profiles.supervised.doneGrace",
    "profiles.supervised.project",
    "profiles.verified.roles[].title",
    "profiles.verified.roles[].description",
    "profiles.verified.roles[].promise",
    "profiles.reviewed.completionPromise",
    "profiles.reviewed.planFolder",
]
"""What a stranger's repository may set as it likes. Think twice before a setting is added here."""


def _declared(table: Table[Any], prefix: str = "") -> Iterator[tuple[str, Setting]]:
    for setting in table.settings:
        key = prefix + setting.key
        yield key, setting
        kind = setting.kind.kind if isinstance(setting.kind, Nullable) else setting.kind
        if isinstance(kind, Named | ListOf) and isinstance(kind.kind, Table):
            yield from _declared(kind.kind, f"{key}[].")
        elif isinstance(kind, Table):
            yield from _declared(kind, f"{key}.")


def test_nobody_made_a_setting_free_by_accident() -> None:
    free = {key for key, setting in _declared(SETTINGS) if setting.untrusted is ALWAYS}
    assert free == set(FREE)


def demands(project: dict[str, object], own: dict[str, object] | None = None) -> list[tuple[str, object]]:
    layers = stack([Layer(Origin(".ralph/settings.json"), project)])
    return [(one.key, one.value) for one in demands_of(layers, stack([Layer(Origin("own"), own or {})]))]


@pytest.mark.parametrize(
    ("project", "own", "asked"),
    [
        ({}, {}, []),
        ({"agent": {"command": "x"}}, {}, ["agent.command"]),
        ({"agent": {"command": "x"}}, {"agent": {"command": "x"}}, []),
        ({"guardrails": [{"command": "a"}, {"command": "b"}]}, {}, ["guardrails[0].command", "guardrails[1].command"]),
        ({"guardrails": [{"command": "a", "allowEmpty": True}]}, {}, ["guardrails[0].command", "guardrails[0].allowEmpty"]),
        ({"guardrails": ["a"]}, {}, ["guardrails[0].command"]),
        ({"guardrails": ["a", "b"]}, {"guardrails": [{"command": "a"}]}, ["guardrails[1].command"]),
        ({"guardrails": ["b"]}, {"guardrails": ["a"]}, ["guardrails[0].command", "guardrails"]),
        ({"guardrails": []}, {"guardrails": [{"command": "a"}]}, ["guardrails"]),
        ({"completionHint": False}, {}, []),
        ({"agent": {"isolation": "clean"}}, {}, ["agent.isolation"]),
        ({"agent": {"isolation": "usual"}}, {"agent": {"isolation": "clean"}}, ["agent.isolation"]),
        ({"agents": {"a": {"isolation": "clean"}}}, {}, ["agents.a.isolation"]),
        ({"workspace": {"setup": "a", "share": ["b"], "teardown": ["c"], "allow": ["d.test"], "timeout": 9}}, {}, ["workspace.setup", "workspace.share", "workspace.teardown", "workspace.allow"]),
        ({"workspace": {"setup": ["a"], "allow": []}}, {"workspace": {"setup": "a", "allow": ["d.test"]}}, []),
        ({"workspace": {"setup": "", "teardown": []}}, {"workspace": {"setup": "a", "teardown": "b"}}, ["workspace.setup", "workspace.teardown"]),
        ({"workspace": {"setup": ["a", "b"]}}, {"workspace": {"setup": "a"}}, ["workspace.setup"]),
        ({"limits": {"keepFree": {"5h": 20, "week": 1}}}, {"limits": {"keepFree": {"5h": 10}}}, []),
        ({"limits": {"keepFree": {"5h": 9}}}, {"limits": {"keepFree": {"5h": 10}}}, ["limits.keepFree"]),
        ({"limits": {"keepFree": {"week": 99}}}, {"limits": {"keepFree": {"5h": 10}}}, ["limits.keepFree"]),
        ({"scm": None}, {}, []),
        ({"delivery": "pr"}, {}, ["delivery"]),
        ({"delivery": "local"}, {"delivery": "pr"}, []),
        ({"pullRequest": {"merge": "squash"}}, {}, ["pullRequest.merge"]),
        ({"pullRequest": {"merge": "off", "draft": True, "wait": 5}}, {"pullRequest": {"merge": "merge"}}, []),
        ({"pullRequest": {"ci": False}}, {}, ["pullRequest.ci"]),
        ({"pullRequest": {"checks": ["lint"]}}, {}, ["pullRequest.checks"]),
        ({"pullRequest": {"repository": "github.com/a/b", "remote": "other", "base": "dev"}}, {}, ["pullRequest.repository", "pullRequest.remote", "pullRequest.base"]),
        ({"pullRequest": {"labels": ["a"], "reviewers": ["b"], "assignees": ["c"]}}, {}, ["pullRequest.labels", "pullRequest.reviewers", "pullRequest.assignees"]),
        ({"sandbox": {"kind": "none"}}, {}, ["sandbox.kind"]),
        ({"sandbox": {"kind": "none"}}, {"sandbox": {"kind": "none"}}, []),
        ({"sandbox": {"kind": None}}, {"sandbox": {"kind": "bwrap"}}, ["sandbox.kind"]),
        ({"sandbox": {"kind": "srt"}}, {"sandbox": {"kind": "bwrap"}}, ["sandbox.kind"]),
        ({"sandbox": {"kind": "auto"}}, {"sandbox": {"kind": "strongest"}}, ["sandbox.kind"]),
        ({"sandbox": {"kind": "bwrap"}}, {}, ["sandbox.kind"]),
        ({"sandbox": {"kind": "srt"}}, {"sandbox": {"kind": "auto"}}, ["sandbox.kind"]),
        ({"sandbox": {"kind": "strongest"}}, {"sandbox": {"kind": "bwrap"}}, ["sandbox.kind"]),
        ({"sandbox": {"kind": "sbx"}}, {"sandbox": {"kind": "strongest"}}, []),
        ({"sandbox": {"kind": "bwrap"}}, {"sandbox": {"kind": "container"}}, []),
        ({"sandbox": {"kind": "auto"}}, {}, []),
        ({"sandbox": {"kind": "srt"}}, {"sandbox": {"kind": "none"}}, []),
        ({"sandbox": {"kind": "strongest"}}, {"sandbox": {"kind": "auto"}}, []),
        ({"sandbox": {"network": "off"}}, {}, []),
        ({"sandbox": {"network": "allow"}}, {"sandbox": {"network": "off"}}, ["sandbox.network"]),
        ({"sandbox": {"allow": ["a.test"]}}, {"sandbox": {"allow": ["a.test", "b.test"]}}, []),
        ({"sandbox": {"allow": ["c.test"]}}, {"sandbox": {"allow": ["a.test"]}}, ["sandbox.allow"]),
        ({"sandbox": {"memory": "2g"}}, {"sandbox": {"memory": "1g"}}, ["sandbox.memory"]),
        ({"sandbox": {"memory": "1g"}}, {"sandbox": {"memory": "2048m"}}, []),
        ({"sandbox": {"memory": "512m", "pids": 200, "fileSize": "1g"}}, {}, []),
        ({"sandbox": {"memory": 0, "pids": 0, "fileSize": 0}}, {}, ["sandbox.memory", "sandbox.pids", "sandbox.fileSize"]),
        ({"sandbox": {"pids": 100000, "fileSize": "9t"}}, {}, ["sandbox.pids", "sandbox.fileSize"]),
        ({"sandbox": {"pids": None}}, {"sandbox": {"pids": 100}}, ["sandbox.pids"]),
        ({"sandbox": {"pids": 9}}, {"sandbox": {"pids": 0}}, []),
        ({"sandbox": {"image": "x"}}, {}, ["sandbox.image"]),
        ({"sandboxChecks": False}, {}, ["sandboxChecks"]),
        ({"sandboxChecks": True}, {}, []),
        ({"proof": "trusting"}, {}, ["proof"]),
        ({"proof": "guarded"}, {"proof": "strict"}, ["proof"]),
        ({"tests": "locked"}, {}, []),
        ({"tests": "free"}, {}, ["tests"]),
        ({"limits": {"stuckAfter": 0}}, {}, ["limits.stuckAfter"]),
        ({"limits": {"stuckAfter": 3}}, {}, []),
        ({"maximumIterations": 11}, {}, ["maximumIterations"]),
        ({"maximumIterations": 9}, {}, []),
        ({"agent": {"maxTurns": 9}}, {}, []),
        ({"agent": {"maxTurns": None}}, {"agent": {"maxTurns": 5}}, ["agent.maxTurns"]),
        ({"profiles": {"verified": {"roles": {"qa": {"maxIterations": 99}}}}}, {}, ["profiles.verified.roles.qa.maxIterations"]),
        ({"profiles": {"verified": {"roles": {"qa": {"maxIterations": 5, "enabled": False}}}}}, {}, []),
        ({"profiles": {"verified": {"maxParallel": 9, "maxRejections": 9}}}, {}, ["profiles.verified.maxParallel", "profiles.verified.maxRejections"]),
        ({"profiles": {"verified": {"rerunFailing": True}}}, {}, ["profiles.verified.rerunFailing"]),
        ({"profiles": {"verified": {"enabled": True}}}, {"profiles": {"verified": {"enabled": False}}}, ["profiles.verified.enabled"]),
        ({"guard": {"allow": ["*"], "packs": ["all"]}}, {}, ["guard.allow"]),
        ({"guard": {"packs": []}}, {"guard": {"packs": ["all"]}}, ["guard.packs"]),
        ({"notify": ["bell", "desktop"]}, {}, []),
        ({"notify": ["bell", "https://evil.test"]}, {}, ["notify"]),
        ({"telemetry": {"otlp": "https://evil.test", "content": True}}, {}, ["telemetry.otlp", "telemetry.content"]),
        ({"telemetry": {"otlp": "", "content": False}}, {"telemetry": {"otlp": "http://127.0.0.1:4318"}}, []),
        ({"agents": {"a": {"command": "x", "prompt": "stdin"}}}, {}, ["agents.a.command", "agents.a.prompt"]),
        ({"profiles": {"verified": {"defaultVerification": "semantic"}}}, {}, []),
        ({"profiles": {"verified": {"roles": {"qa": {"verification": "a.b:C"}}}}}, {}, ["profiles.verified.roles.qa.verification"]),
        ({"profiles": {"reviewed": {"skipReview": True}}}, {}, ["profiles.reviewed.skipReview"]),
        ({"profiles": {"reviewed": {"reviewCap": 1, "atCap": "approve"}}}, {"profiles": {"reviewed": {"atCap": "block"}}}, ["profiles.reviewed.reviewCap", "profiles.reviewed.atCap"]),
        ({"prices": {"*": {"input": 0, "output": 0}}}, {"prices": {"*": {"input": 5, "output": 5}}}, ["prices.*.input", "prices.*.output"]),
    ],
)  # fmt: skip
def test_a_value_needs_trust_unless_it_tightens(
    project: dict[str, object], own: dict[str, object], asked: list[str]
) -> None:
    assert [key for key, _ in demands(project, own)] == asked


@pytest.mark.parametrize(
    ("kind", "own", "usual", "is_asked"),
    [
        ("none", None, "none", False),
        (None, None, "none", False),
        ("none", None, "auto", True),
        ("none", None, "", True),
        ("none", "auto", "none", True),
        ("bwrap", None, "none", False),
    ],
)
def test_what_a_command_does_of_itself_needs_no_trust(
    kind: str | None, own: str | None, usual: str, *, is_asked: bool
) -> None:
    project, mine = (stack([Layer(Origin("x"), {"sandbox": {"kind": one}})]) for one in (kind, own))
    assert bool(demands_of(project, mine, usual_sandbox=usual)) is is_asked


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_KEYS = sorted({setting.key for _, setting in _declared(SETTINGS)})
_SETTINGS = st.recursive(
    st.dictionaries(st.sampled_from(_KEYS), _JSON, max_size=3),
    lambda inner: st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3),
    max_leaves=5,
)


@given(_SETTINGS, _SETTINGS)
def test_no_settings_break_the_rule(project: dict[str, Any], own: dict[str, Any]) -> None:
    assert demands(project, project) == []
    asked = [key for key, _ in demands(project, own)]
    assert all(key.split(".")[0].split("[")[0] in project for key in asked)


@given(st.text(), st.text())
def test_a_digest_tells_projects_and_values_apart(one: str, other: str) -> None:
    def digest(project: str, value: object) -> str:
        return digest_of(project, Demand("runs", value, "guardrails[0].command", "file"))

    assert (digest("/a", one) == digest("/a", other)) == (one == other)
    assert (digest(one, "x") == digest(other, "x")) == (one == other)
    moved = Demand("runs", one, "guardrails[7].command", "file")
    assert digest_of("/a", moved) == digest("/a", one)


def test_what_is_not_declared_otherwise_needs_trust() -> None:
    assert Setting("x", "x", SETTINGS, None, "", False, NEVER, "").untrusted(1, 1) is False
