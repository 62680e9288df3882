"""Tokens of forges, trackers and the fleet's server in the environment: ralph's own when it asks those, and no agent's."""

from __future__ import annotations

from collections.abc import Collection, Mapping

TOKENS = frozenset(
    {
        *("GH_ENTERPRISE_TOKEN", "GH_TOKEN", "GITHUB_ENTERPRISE_TOKEN", "GITHUB_TOKEN", "LINEAR_API_KEY"),
        *("RALPH_FLEET_KEY", "RALPH_FLEET_KEY_FILE", "TEMPORAL_API_KEY"),
    }
)


def without_service_tokens(environment: Mapping[str, str], kept: Collection[str] = ()) -> dict[str, str]:
    """For agents, and for checks, which run what agents wrote. ``kept``: what the user gives the agent by name."""
    return {name: value for name, value in environment.items() if name not in TOKENS or name in kept}
