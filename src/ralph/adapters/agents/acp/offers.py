"""What a new session offers to choose from: its model, and the mode in which it asks for more or less."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ralph.adapters.agents.acp.messages import Choice, ConfigOption, Models, Modes, Opened, read
from ralph.domain.agent.options import Permissions
from ralph.patterns import pattern
from ralph.values import dataclass, replace

_MODES: Final[Mapping[Permissions, tuple[str, ...]]] = {
    Permissions.ALLOW: ("yolo", "bypasspermissions", "full-access", "autopilot"),
    Permissions.READS: ("read-only", "plan", "ask"),
    Permissions.NONE: ("default",),
}
"""What agents call the mode that a policy means, the best first."""

_SEPARATORS = pattern(r"[\s_]+")


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that makes the session what it should be. Without one that ``matters`` it must not begin."""

    method: str
    params: dict[str, object]
    matters: bool = True


@dataclass(frozen=True, slots=True)
class Offers:
    """``model``: the one that it would use. ``models``: those that can be chosen, by id and by name."""

    model: str
    models: tuple[tuple[str, str], ...]
    modes: tuple[str, ...]
    model_option: str = ""  # the id of the configuration option; empty: chosen by session/set_model
    mode_option: str = ""  # empty: by session/set_mode

    def choose_model(self, session: str, wanted: str) -> Wish | None:
        """None: it does not offer that one."""
        for identity, name in self.models:
            if wanted in (identity, name):
                if self.model_option:
                    return _option(session, self.model_option, identity)
                return Wish("session/set_model", {"sessionId": session, "modelId": identity})
        return None

    def choose_mode(self, session: str, policy: Permissions) -> Wish | None:
        """An agent in another mode still gets only what the policy allows when it asks; in some modes it does not ask."""
        modes = {_plain_name(mode): mode for mode in reversed(self.modes)}
        for name in _MODES[policy]:
            if name in modes:
                if self.mode_option:
                    return replace(_option(session, self.mode_option, modes[name]), matters=False)
                return Wish("session/set_mode", {"sessionId": session, "modeId": modes[name]}, matters=False)
        return None


def offers_of(opened: Opened) -> Offers:
    """Configuration options outrank the older lists of modes and models."""
    options: list[ConfigOption] = read(opened.config_options, list[ConfigOption]) or []
    by_category = {option.category: option for option in reversed(options) if option.type == "select"}
    modes: Modes = read(opened.modes, Modes) or Modes()
    models: Models = read(opened.models, Models) or Models()
    model, mode = by_category.get("model"), by_category.get("mode")
    return Offers(
        model=str(model.current_value) if model is not None else models.current_model_id,
        models=_entries(model.options)
        if model is not None
        else tuple((each.model_id, each.name) for each in models.available_models),
        modes=tuple(value for value, _ in _entries(mode.options))
        if mode is not None
        else tuple(each.id for each in modes.available_modes),
        model_option=model.id if model is not None else "",
        mode_option=mode.id if mode is not None else "",
    )


def _entries(choices: Sequence[Choice]) -> tuple[tuple[str, str], ...]:
    """Without the groups around them."""
    return tuple(
        (entry.value, entry.name)
        for choice in choices
        for entry in (choice.options or (choice,))
        if entry.value
    )


def _option(session: str, option: str, value: str) -> Wish:
    return Wish("session/set_config_option", {"sessionId": session, "configId": option, "value": value})


def _plain_name(mode: str) -> str:
    """Some ids are addresses that end with the name."""
    return _SEPARATORS.sub("-", re.split(r"[/#]", mode)[-1].lower()).replace("readonly", "read-only")
