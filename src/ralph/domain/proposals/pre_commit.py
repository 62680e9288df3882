"""pre-commit: linters, where nothing else names one."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.domain.proposals.proposal import Files, Kind, Proposal, first_there, propose


def guardrails(files: Files) -> Iterator[Proposal]:
    if source := first_there(files, ".pre-commit-config.yaml", ".pre-commit-config.yml"):
        yield propose("pre-commit run --all-files", source, Kind.LINT)
