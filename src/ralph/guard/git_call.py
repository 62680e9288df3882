"""A git call taken apart: global options, inline configuration, subcommand and its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ralph.guard.marks import INPUT, UNKNOWN
from ralph.guard.options import read_own_words, words_in

_VALUED = words_in(
    "-c -C --config-env --git-dir --work-tree --namespace --super-prefix --exec-path --attr-source"
)


class GitWords(NamedTuple):
    subcommand: str
    arguments: list[str]
    config: dict[str, str]
    """Set by ``-c``; keys are lower case."""
    directory: str
    config_from_environment: list[str]
    """Keys whose value ``--config-env`` takes from a variable."""


def read_git(words: list[str]) -> GitWords:
    own = read_own_words(words, _VALUED)
    config = {
        key.lower(): value for key, _, value in (setting.partition("=") for setting in own.values("-c"))
    }
    return GitWords(
        own.command[0].lower() if own.command else "",
        own.command[1:],
        config,
        "".join(own.values("-C")[-1:]),
        [setting.partition("=")[0].lower() for setting in own.values("--config-env")],
    )


def settings_from_environment(environment: Mapping[str, str]) -> dict[str, str] | None:
    """What ``GIT_CONFIG_COUNT``, ``…_KEY_n`` and ``…_VALUE_n`` set; None if that cannot be read."""
    count = environment.get("GIT_CONFIG_COUNT")
    if count is None:
        return {}
    if not count.isdigit() or int(count) > 100:
        return None
    config: dict[str, str] = {}
    for number in range(int(count)):
        key = environment.get(f"GIT_CONFIG_KEY_{number}")
        value = environment.get(f"GIT_CONFIG_VALUE_{number}")
        if not key or value is None or UNKNOWN in key or INPUT in key:
            return None
        config[key.lower()] = value
    return config
