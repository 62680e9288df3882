"""Computes what /metrics says of a record, twice. Prints JSON: milliseconds."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from ralph.domain.telemetry.exposition import expose
from ralph.operations.metrics import read_figures
from ralph.operations.projects import Project
from ralph.operations.watch import open_feed


def main(folder: Path) -> None:
    project = Project(key="p", name="p", workspace=folder.parent, state_folder=folder)
    with open_feed(folder) as feed:
        took = []
        for _ in range(2):
            began = time.perf_counter()
            expose(read_figures(project, feed))
            took.append(1000 * (time.perf_counter() - began))
    print(json.dumps({"first": took[0], "again": took[1]}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
