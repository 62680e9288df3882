"""A git call taken apart: global options, inline configuration, subcommand and its words."""

from __future__ import annotations

from typing import NamedTuple

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
