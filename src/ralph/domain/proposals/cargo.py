"""Rust. `cargo build` would add nothing: the tests are built too."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.domain.proposals.proposal import Kind, Proposal, ReadText, propose

SOURCE = "Cargo.toml"


def guardrails(read: ReadText) -> Iterator[Proposal]:
    if read(SOURCE) is not None:
        yield propose("cargo test", SOURCE, Kind.TEST)
        yield propose("cargo clippy", SOURCE, Kind.LINT, program="cargo-clippy")
