"""The routes. Each asks the feed and passes on its answer."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from ralph import __version__
from ralph.domain.fleet.board import DONE, JobAsk
from ralph.domain.loop.asks import Ask
from ralph.domain.tasks.task import TaskAsk
from ralph.domain.views.beginning import BEGINNINGS
from ralph.domain.views.board import CardKind
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.runs import FeedEvent, is_newest
from ralph.errors import RalphError, ServiceAway, StoreError
from ralph.interfaces.report.content import RUNS_LOOKED_AT, read_content, with_changes
from ralph.interfaces.report.formats import Format, write_report
from ralph.interfaces.report.html_page import POLICY as REPORT_POLICY
from ralph.interfaces.web.access import METRICS, Access, Guard
from ralph.interfaces.web.fleet import FleetHub, together
from ralph.interfaces.web.hub import Hub, encode, happened, progress
from ralph.interfaces.web.metrics import MetricsPage
from ralph.interfaces.web.overview import Hubs
from ralph.interfaces.web.page_data import changes_data, detail_data, line
from ralph.operations.fleet.watch import FleetWatch
from ralph.operations.projects import Project
from ralph.operations.runs.ask import ask
from ralph.operations.runs.background import LONGEST_PROMPT, resume_run, start_run, start_work
from ralph.operations.tasks import ask_of_task
from ralph.operations.watch import Feed, changes_in

STATIC = Path(__file__).with_name("static")
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}
ITERATIONS_SHOWN = 500
EVENTS_FIRST = 200
EVENTS_MOST = 500
MOST_BODY = 64 * 1024
MOST_STEER = 20_000
REPORT_TYPES = {
    Format.HTML: "text/html; charset=utf-8",
    Format.MARKDOWN: "text/markdown; charset=utf-8",
    Format.JSON: "application/json",
}

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def make_app(
    projects: Sequence[Project], access: Access, watch: FleetWatch | None = None
) -> tuple[ASGIApp, Callable[[], None]]:
    """The guarded application, and what closes its streams.

    One project has its page at the top; each of several has the same one below ``/api/projects/KEY``. ``watch``: shows the
    fleet on the first page.
    """
    hubs = Hubs(projects)
    fleet = None if watch is None else FleetHub(watch)
    files = {f"/{path.name}": path for path in STATIC.iterdir() if path.suffix in TYPES}
    if len(hubs.all) == 1:
        routes = _routes("/api", Pages(hubs.all[0], access, fleet))
    else:
        whole = OverviewPages(hubs, access, fleet)
        routes = [Route("/api/state", whole.state), Route("/api/stream", whole.stream)]
        for hub in hubs.all:
            top = f"/api/projects/{hub.project.key}"
            routes += [_closed(top, hub.project)] if hub.project.problem else _routes(top, Pages(hub, access))

    if fleet is not None:
        routes += _fleet_routes(FleetPages(fleet))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with hubs.open():
            yield
        if fleet is not None:
            fleet.close()

    def end() -> None:
        hubs.end()
        if fleet is not None:
            fleet.end()

    app = Starlette(
        routes=[
            Route("/", _file(STATIC / "index.html")),
            *(Route(path, _file(file)) for path, file in files.items()),
            Route(METRICS, MetricsPage(hubs).show),
            *routes,
        ],
        lifespan=lifespan,
        exception_handlers={HTTPException: _refused, RalphError: _failed, Exception: _broken},
    )
    public = frozenset({"/", *files})
    return Guard(app, access=access, public=public), end


def _routes(top: str, pages: Pages) -> list[Route]:
    """Of one project."""
    return [
        Route(f"{top}/state", pages.state),
        Route(f"{top}/stream", pages.stream),
        Route(f"{top}/work", pages.start_work, methods=["POST"]),
        Route(f"{top}/runs", pages.start_run, methods=["POST"]),
        Route(f"{top}/runs/{{run}}", pages.run),
        Route(f"{top}/runs/{{run}}/events", pages.events),
        Route(f"{top}/runs/{{run}}/iterations/{{iteration:int}}/{{attempt:int}}/changes", pages.changes),
        Route(f"{top}/runs/{{run}}/report.{{form}}", pages.report),
        Route(f"{top}/runs/{{run}}/resume", pages.resume, methods=["POST"]),
        Route(f"{top}/runs/{{run}}/{{request}}", pages.ask, methods=["POST"]),
        Route(f"{top}/tasks/{{task}}/{{request}}", pages.ask_of_task, methods=["POST"]),
        Route(f"{top}/cards/{{kind}}/{{card:path}}", pages.card),
    ]


def _fleet_routes(pages: FleetPages) -> list[Route]:
    return [
        Route("/api/fleet/jobs/{job}", pages.job),
        Route("/api/fleet/jobs/{job}/stream", pages.stream),
        Route("/api/fleet/jobs/{job}/past", pages.past),
        Route("/api/fleet/jobs/{job}/{request}", pages.ask, methods=["POST"]),
    ]


def _closed(top: str, project: Project) -> Route:
    """A project that cannot be used answers every question with the reason."""

    async def refuse(_: Request) -> Response:
        return _error(503, project.problem, hint=project.hint)

    return Route(f"{top}/{{rest:path}}", refuse, methods=["GET", "POST"])


def _file(path: Path) -> Callable[[Request], Awaitable[Response]]:
    content = path.read_bytes()

    async def answer(_: Request) -> Response:
        return Response(content, media_type=TYPES[path.suffix])

    return answer


class OverviewPages:
    """What is told of several projects together."""

    def __init__(self, hubs: Hubs, access: Access, fleet: FleetHub | None) -> None:
        self._hubs = hubs
        self._access = access
        self._fleet = fleet

    async def state(self, _: Request) -> Response:
        has_fleet = self._fleet is not None
        more = encode({"version": __version__, "readOnly": self._access.read_only, "hasFleet": has_fleet})
        return _json(await self._hubs.state(fresh=True), more)

    async def stream(self, request: Request) -> Response:
        if request.query_params.get("run"):
            raise HTTPException(404, "There are several projects here: ask one of them.")
        frames = self._hubs.stream()
        return _streamed(frames if self._fleet is None else together(frames, self._fleet.stream()))


class FleetPages:
    """What is told of the fleet's jobs, and asked of them."""

    def __init__(self, hub: FleetHub) -> None:
        self._hub = hub

    async def job(self, request: Request) -> Response:
        return _json(encode(await self._hub.job(request.path_params["job"])))

    async def past(self, request: Request) -> Response:
        return _json(encode(await self._hub.past(request.path_params["job"])))

    async def stream(self, request: Request) -> Response:
        return _streamed(self._hub.job_stream(request.path_params["job"], _seen(request)))

    async def ask(self, request: Request) -> Response:
        wanted = _member(JobAsk, request.path_params["request"], "Unknown request.")
        text = _text(await _body(request), "text", MOST_STEER)
        await self._hub.watch.ask(request.path_params["job"], wanted, text)
        return _json(encode({"answer": DONE[wanted]}))


class Pages:
    """One method for each route of a project."""

    def __init__(self, hub: Hub, access: Access, fleet: FleetHub | None = None) -> None:
        self._hub = hub
        self._access = access
        self._fleet = fleet
        self._starting = asyncio.Lock()

    async def state(self, _: Request) -> Response:
        more = encode(
            {
                "version": __version__,
                "readOnly": self._access.read_only,
                "project": line(self._hub.project.name),
                "beginnings": [each._asdict() for each in BEGINNINGS],
                "hasFleet": self._fleet is not None,
            }
        )
        return _json(await self._hub.state(fresh=True), more)

    async def stream(self, request: Request) -> Response:
        run_id = request.query_params.get("run", "")
        frames = self._hub.stream(run_id, _seen(request))
        if self._fleet is not None and not run_id:
            frames = together(frames, self._fleet.stream())
        return _streamed(frames)

    async def run(self, request: Request) -> Response:
        run_id = request.path_params["run"]

        def read(feed: Feed) -> bytes | None:
            events = feed.newest(run_id, EVENTS_FIRST)
            found = progress(feed, run_id, iterations=ITERATIONS_SHOWN)
            if found is None:
                return None
            return encode(found | _events(feed, run_id, events) | {"last": events[-1].seq if events else 0})

        return _json(_found(await self._hub.ask(read)))

    async def events(self, request: Request) -> Response:
        """Earlier ones, for scrolling back."""
        run_id = request.path_params["run"]
        before, limit = _number(request, "before", 2**62), min(_number(request, "limit", 200), EVENTS_MOST)

        def read(feed: Feed) -> bytes:
            return encode(_events(feed, run_id, feed.before(run_id, before, limit)))

        return _json(await self._hub.ask(read))

    async def changes(self, request: Request) -> Response:
        given = request.path_params
        run_id, wanted = given["run"], (given["iteration"], given["attempt"])

        def read(feed: Feed) -> tuple[str, list[IterationView], bool] | None:
            run = feed.run(run_id)
            if run is None:
                return None
            newest = is_newest(run, feed.runs(limit=RUNS_LOOKED_AT))
            return run.root, list(feed.iterations(run_id)), newest

        root, iterations, newest = _found(await self._hub.ask(read))
        places = [(each.iteration, each.attempt) for each in iterations]
        index = _found(places.index(wanted) if wanted in places else None)
        reader = changes_in(root, self._hub.state_folder)
        found = await reader.of_iteration(iterations, index, newest=newest)
        return _json(encode(changes_data(found)))

    async def card(self, request: Request) -> Response:
        kind = _member(CardKind, request.path_params["kind"], "Not found.")
        card_id = request.path_params["card"]
        return _json(encode(detail_data(_found(await self._hub.ask(lambda feed: feed.card(kind, card_id))))))

    async def report(self, request: Request) -> Response:
        run_id = request.path_params["run"]
        form = _member(Format, request.path_params["form"], "Unknown format: use html, md or json.")
        _found(await self._hub.ask(lambda feed: feed.run(run_id)))
        content = await with_changes(await self._hub.ask(lambda feed: read_content(feed, run_id)))
        text = await asyncio.to_thread(write_report, content, form)
        name = re.sub(r"[^A-Za-z0-9._-]", "-", run_id)
        headers = {
            "content-disposition": f'attachment; filename="ralph-report-{name}.{form}"',
            "content-security-policy": f"{REPORT_POLICY}; sandbox",
        }
        return Response(text, media_type=REPORT_TYPES[form], headers=headers)

    # --- what a person asks for ---

    async def start_work(self, request: Request) -> Response:
        await _body(request)
        return await self._begun(lambda: start_work(self._hub.project))

    async def start_run(self, request: Request) -> Response:
        """The prompt is in the body: an address would be in histories and logs."""
        prompt = _text(await _body(request), "prompt", LONGEST_PROMPT)
        return await self._begun(lambda: start_run(self._hub.project, prompt))

    async def resume(self, request: Request) -> Response:
        await _body(request)
        run_id = request.path_params["run"]
        return await self._begun(lambda: resume_run(self._hub.project, run_id))

    async def _begun(self, start: Callable[[], Awaitable[str]]) -> Response:
        """One at a time: whoever clicks twice does not start twice."""
        if self._starting.locked():
            raise HTTPException(409, "A run is being started here already.")
        async with self._starting:
            return _json(encode({"run": line(await start())}))

    async def ask(self, request: Request) -> Response:
        wanted = _member(Ask, request.path_params["request"], "Unknown request.")
        text = _text(await _body(request), "text", MOST_STEER)
        run_id, folder = request.path_params["run"], self._hub.state_folder
        answer = await asyncio.to_thread(ask, folder, run_id, wanted, text=text)
        return _json(encode({"answer": answer.value}))

    async def ask_of_task(self, request: Request) -> Response:
        wanted = _member(TaskAsk, request.path_params["request"], "Unknown request.")
        task_id, folder = request.path_params["task"], self._hub.state_folder
        task = await asyncio.to_thread(ask_of_task, folder, task_id, wanted)
        return _json(encode({"status": task.status.value}))


def _events(feed: Feed, run_id: str, events: Sequence[FeedEvent]) -> dict[str, Any]:
    """Events, and whether there are earlier ones: all runs share one count, so the numbers do not say."""
    earlier = bool(events) and bool(feed.before(run_id, events[0].seq, 1))
    return {"events": [happened(feed, run_id, event) for event in events], "earlier": earlier}


def _json(*objects: bytes) -> Response:
    """Several objects become one."""
    return Response(b"{" + b",".join(each[1:-1] for each in objects) + b"}", media_type="application/json")


def _streamed(frames: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(frames, media_type="text/event-stream", headers={"x-accel-buffering": "no"})


def _seen(request: Request) -> int:
    """A browser that reconnects names the last event it saw."""
    seen = request.headers.get("last-event-id") or request.query_params.get("after") or "0"
    if not seen.isdecimal() or len(seen) > 18:
        raise HTTPException(400, "Last-Event-ID is not a number.")
    return int(seen)


def _text(body: dict[str, Any], name: str, most: int) -> str:
    text = body.get(name, "")
    if not isinstance(text, str):
        raise HTTPException(400, f"{name} is not a text.")
    if len(text) > most:
        raise HTTPException(413, f"The text is longer than {most:,} characters.")
    return text


def _found(answer: T | None) -> T:
    if answer is None:
        raise HTTPException(404, "Not found; it may have been removed.")
    return answer


def _member(kind: type[E], given: str, refusal: str) -> E:
    try:
        return kind(given)
    except ValueError:
        raise HTTPException(404, refusal) from None


def _number(request: Request, name: str, default: int) -> int:
    given = request.query_params.get(name, "")
    if not given:
        return default
    if not given.isdecimal() or len(given) > 18:
        raise HTTPException(400, f"{name} is not a number.")
    return int(given)


async def _body(request: Request) -> dict[str, Any]:
    data = b""
    try:
        async for chunk in request.stream():
            data += chunk
            if len(data) > MOST_BODY:
                raise HTTPException(413, "The request is too long.")
        content = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        raise HTTPException(400, "The request is not JSON.") from None
    except ClientDisconnect:
        raise HTTPException(400, "The request was cut off.") from None
    if not isinstance(content, dict):
        raise HTTPException(400, "The request is not a JSON object.")
    return content


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _error(error.status_code, error.detail)


async def _failed(_: Request, error: Exception) -> Response:
    """What the user can fix, in the words of the error."""
    assert isinstance(error, RalphError)
    return _error(503 if isinstance(error, StoreError | ServiceAway) else 409, error.message, hint=error.hint)


async def _broken(_: Request, error: Exception) -> Response:
    return _error(500, f"Internal error ({type(error).__name__}); please report it.")


def _error(status: int, message: str, **more: str) -> Response:
    return Response(encode({"error": message, **more}), status, media_type="application/json")
