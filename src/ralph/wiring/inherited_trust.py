"""What the programs of a run inherit of their user's trust: the agreement to what this project asks for now, and no more."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralph.adapters.git_demands import git_demands
from ralph.config.demands import demands_of
from ralph.domain.trust.demand import AGREED_RECORDS, VARIABLE, digest_of
from ralph.wiring.launch import Launch


def with_inherited_trust(environ: Mapping[str, str], launch: Launch) -> dict[str, str]:
    """A ralph that an agent starts here works; one in another project, or after a change of the settings, asks."""
    loaded = launch.loaded
    settings = demands_of(loaded.project, loaded.own)
    demands = (*settings, *launch.demands, *git_demands(loaded.root, launch.root.workspace), AGREED_RECORDS)
    project = os.path.realpath(loaded.root)
    return {**environ, VARIABLE: ",".join(digest_of(project, one) for one in demands)}
