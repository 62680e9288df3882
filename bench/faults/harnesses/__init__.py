"""One file per harness; ``HARNESSES`` is the registry."""

from __future__ import annotations

from collections.abc import Mapping

from bench.faults.harness import Harness
from bench.faults.harnesses.ralph import Ralph

HARNESSES: Mapping[str, Harness] = {harness.name: harness for harness in (Ralph(),)}
