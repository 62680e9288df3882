"""Go. `go build` would add nothing: `go vet` compiles every package too."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.domain.proposals.proposal import Files, Kind, Proposal, propose

SOURCE = "go.mod"


def guardrails(files: Files) -> Iterator[Proposal]:
    if files.read(SOURCE) is not None:
        yield propose("go test ./...", SOURCE, Kind.TEST)
        yield propose("go vet ./...", SOURCE, Kind.LINT)
