"""What the layers of proof are called, wherever their results are shown."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum


class LayerName(StrEnum):
    SETUP = "setup"
    CANARY_AT_START = "canary at the start"
    PROTECTION = "protection"
    TESTS_REVIEW = "tests review"
    CLEAN_CHECKOUT = "clean checkout"
    OLD_PROOF = "old proof"
    CANARY = "canary"
    OWN_CHECKS = "own checks"
    COMMIT = "commit"


LAYER_NAMES = frozenset(LayerName)
"""Contains plain texts too: a result on record has one."""
LAYERS_AT_CLAIM = LAYER_NAMES - {LayerName.CANARY_AT_START}
"""One that had nothing to do says so in the record, and on the console if that is verbose."""

_WORDS = {
    LayerName.CANARY_AT_START.value: "planted failing test, at the start",
    LayerName.CANARY.value: "planted failing test",
    LayerName.PROTECTION.value: "changes to tests and scripts",
}


def check_words(name: str) -> str:
    """What people read for the name of a check; the record and `--json` have the name."""
    return _WORDS.get(name, name)


def check_list(names: Iterable[str]) -> str:
    """Several of them, in a sentence."""
    return ", ".join(map(check_words, names))
