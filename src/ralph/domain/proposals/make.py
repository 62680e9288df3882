"""Makefiles: their targets for tests and checks."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.domain.proof.makefiles import needs_in
from ralph.domain.proposals.proposal import Files, Kind, Proposal, first_there, propose

_TARGETS = {
    "test": Kind.TEST,
    "tests": Kind.TEST,
    "lint": Kind.LINT,
    "typecheck": Kind.TYPES,
    "type-check": Kind.TYPES,
}
_ALL = "check"


def guardrails(files: Files) -> Iterator[Proposal]:
    source = first_there(files, "GNUmakefile", "makefile", "Makefile")  # make reads only one
    needs = needs_in(files.read(source) or "") if source else {}
    made_by_all = needs.get(_ALL, frozenset())
    named = {target: kind for target, kind in _TARGETS.items() if target in needs}
    for target, kind in named.items():
        if target not in made_by_all:
            yield propose(f"make {target}", source, kind)
    if _ALL in needs:
        # It is all there is, or whatever the others are not.
        alone = {kind for target, kind in named.items() if target not in made_by_all}
        yield propose(f"make {_ALL}", source, *(set(Kind) - alone))
