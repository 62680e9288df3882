"""Rust. `cargo build` would add nothing: the tests are built too."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.domain.proposals.proposal import Files, Kind, Proposal, propose

SOURCE = "Cargo.toml"


def guardrails(files: Files) -> Iterator[Proposal]:
    if files.read(SOURCE) is not None:
        yield propose("cargo test", SOURCE, Kind.TEST)
        yield propose("cargo clippy", SOURCE, Kind.LINT, program="cargo-clippy")
