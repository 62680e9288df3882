"""What Prometheus reads, at ``/metrics``: computed from the records when it asks."""

from __future__ import annotations

import asyncio

from starlette.requests import Request
from starlette.responses import Response

from ralph.domain.telemetry.exposition import CONTENT_TYPE, Figures, expose
from ralph.errors import RalphError
from ralph.interfaces.web.hub import Hub
from ralph.interfaces.web.overview import Hubs
from ralph.operations.metrics import add_figures, no_figures, read_figures


class MetricsPage:
    """Of all projects together: each has its label."""

    def __init__(self, hubs: Hubs) -> None:
        self._hubs = hubs

    async def show(self, _: Request) -> Response:
        figures = add_figures(await asyncio.gather(*map(_figures, self._hubs.all)))
        return Response(expose(figures), headers={"content-type": CONTENT_TYPE})


async def _figures(hub: Hub) -> Figures:
    """A record that cannot be read is a problem of its own project alone."""
    if hub.project.problem:
        return no_figures(hub.project)
    try:
        return await hub.ask(lambda feed: read_figures(hub.project, feed))
    except RalphError:
        return no_figures(hub.project)
