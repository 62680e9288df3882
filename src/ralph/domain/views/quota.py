"""What is left of an agent's subscription, for a screen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ralph.domain.agent.quota import WINDOWS, AgentQuota, Window, current, percent


def quota_in(options: Mapping[str, object]) -> tuple[AgentQuota, ...]:
    """As a run has kept it; nothing for what another version of ralph wrote in another way."""
    told = options.get("quota")
    found = told.items() if isinstance(told, Mapping) else ()
    return tuple(AgentQuota(str(agent), tuple(_windows(listed))) for agent, listed in found)


def _windows(listed: object) -> Iterable[Window]:
    for one in listed if isinstance(listed, list) else ():
        match one:
            case {"name": str(name), "left": float() | int() as left, "resets_at": float() | int() as reset}:
                if name in WINDOWS:
                    yield Window(name, float(left), float(reset))
            case _:
                pass


def quota_line(quota: AgentQuota, now: float) -> str:
    """``claude: 60 % of 5 hours and 70 % of the week left``; empty: nothing is known that still holds."""
    left = [f"{percent(window.left)} of {WINDOWS[window.name]}" for window in current(quota.windows, now)]
    return f"{quota.agent}: {' and '.join(left)} left" if left else ""
