"""A git call taken apart: global options, inline configuration, subcommand and its words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ralph.guard.marks import INPUT, UNKNOWN
from ralph.guard.options import words_in

_GIT_VALUED = words_in("-C --git-dir --work-tree --namespace --super-prefix --exec-path --attr-source")


class GitWords(NamedTuple):
    subcommand: str
    arguments: list[str]
    config: dict[str, str]
    """Set by ``-c``; keys are lower case."""
    directory: str
    config_from_environment: list[str]
    """Keys whose value ``--config-env`` takes from a variable."""


def read_git(words: list[str]) -> GitWords:
    config: dict[str, str] = {}
    from_environment: list[str] = []
    directory = ""
    at = 0
    while at < len(words):
        word = words[at]
        following = words[at + 1] if at + 1 < len(words) else ""
        if word == "-c":
            _add_setting(config, following)
            at += 2
        elif word.startswith("-c") and not word.startswith("--"):
            _add_setting(config, word[2:])
            at += 1
        elif word == "--config-env":
            from_environment.append(following.partition("=")[0].lower())
            at += 2
        elif word.startswith("--config-env="):
            from_environment.append(word.partition("=")[2].partition("=")[0].lower())
            at += 1
        elif word in _GIT_VALUED:
            directory = following if word == "-C" else directory
            at += 2
        elif word.startswith("-C"):
            directory = word[2:]
            at += 1
        elif word.startswith("-"):
            at += 1
        else:
            break
    rest = words[at:]
    return GitWords(rest[0].lower() if rest else "", rest[1:], config, directory, from_environment)


def _add_setting(config: dict[str, str], setting: str) -> None:
    key, _, value = setting.partition("=")
    config[key.lower()] = value


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
