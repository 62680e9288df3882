"""The stream: every event once and in order, whatever happens to the connection or to the run."""

from __future__ import annotations

import asyncio
import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import httpx
import pytest

from ralph.adapters.storage.run_removal import remove_run
from ralph.domain.agent.events import Text, ToolEnded
from ralph.domain.loop.events import AgentActed, Warned
from ralph.domain.loop.evidence import Verdict

from .conftest import DEADLINE, LiveRun, Site, frames, served

READERS = 200
HOSTILE = "\x1b]0;title\x07\x1b[31mred\x1b[0m <script>alert(1)</script> \u202eevil\u202c \x00"


def happened(site: Site, *, after: int = 0, until: str, headers: dict[str, str] | None = None) -> list[Any]:
    """The events up to one whose text is ``until``."""
    found: list[Any] = []
    with site.client() as client:
        query = {"run": "r1", "after": str(after)}
        with client.stream("GET", "/api/stream", params=query, headers=headers) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            for number, name, data in frames(answer.iter_lines()):
                if name == "happened":
                    assert int(number) == data["seq"]
                    found.append(data)
                    if until in json.dumps(data):
                        return found
    return found


def texts(events: list[Any]) -> list[str]:
    return [item["text"] for event in events for item in event.get("items", [])]


def test_what_happens_is_seen_while_it_happens(site: Site, live: LiveRun) -> None:
    with site.client() as client, client.stream("GET", "/api/stream", params={"run": "r1"}) as answer:
        seen = frames(answer.iter_lines())
        names = [name for _, name, _ in takewhile(lambda frame: frame[1] != "run", seen)]
        assert names == ["state", "happened"]
        live.say("hello there")
        told = next(data for _, name, data in seen if name == "happened")
        assert told["items"] == [{"kind": "text", "text": "hello there", "parent": "", "open": False}]
        live.iterate(1, Verdict.FAILED)
        progress = next(data for _, name, data in seen if name == "run" and data["iterations"])
        assert progress["run"]["state"] == "running"


def test_who_watches_a_run_is_not_sent_all_others_again_and_again(site: Site, live: LiveRun) -> None:
    with site.client() as client, client.stream("GET", "/api/stream", params={"run": "r1"}) as answer:
        seen = frames(answer.iter_lines())
        live.say("one", "two")
        heard = list(takewhile(lambda frame: "two" not in json.dumps(frame[2]), seen))
        assert [data for _, name, data in heard if name == "state"] == [{}]


def test_who_was_away_gets_what_was_missed_and_nothing_twice(site: Site, live: LiveRun) -> None:
    live.say(*(f"word {number}" for number in range(30)))
    first = happened(site, until="word 29")
    last = first[-1]["seq"]
    live.say(*(f"word {number}" for number in range(30, 700)))  # while nobody listens
    second = happened(site, until="word 699", headers={"last-event-id": str(last)})
    assert texts(first + second) == [f"word {number}" for number in range(700)]
    assert second[0]["seq"] > last
    # The number that the browser remembers counts, not the one the page began with.
    third = happened(site, after=0, until="word 699", headers={"last-event-id": str(second[-3]["seq"])})
    assert texts(third) == ["word 698", "word 699"]


def test_a_nonsensical_number_is_refused(site: Site) -> None:
    with site.client() as client:
        for number in ("x", "-1", "9" * 30, "1.5"):
            answer = client.get("/api/stream", params={"run": "r1"}, headers={"last-event-id": number})
            assert answer.status_code == 400


def test_hostile_text_is_harmless_and_a_huge_event_is_cut(site: Site, live: LiveRun) -> None:
    live.write(
        AgentActed((Text(HOSTILE), ToolEnded("t", "Bash", "y" * 3_000_000))),
        AgentActed(tuple(Text(f"piece {number}") for number in range(5000))),
        Warned("the end " + HOSTILE),
    )
    with site.client() as client:
        answer = client.get("/api/runs/r1")
        assert len(answer.content) < 300_000
        for events in (answer.json()["events"], happened(site, until="the end")):
            shown = json.dumps(events, ensure_ascii=False)
            assert not any(character in shown for character in ("\x1b", "\u202e", "\x00", "\\u0000"))
            hostile, many, _ = events[-3:]
            assert "\\u202eevil" in hostile["items"][0]["text"]
            assert hostile["items"][1]["output"].endswith("more characters")
            assert many["omitted"] == 5000 - len(many["items"])


def test_a_run_that_is_removed_while_watched_ends_its_stream(root: Path, site: Site, live: LiveRun) -> None:
    with site.client() as client, client.stream("GET", "/api/stream", params={"run": "r1"}) as answer:
        seen = frames(answer.iter_lines())
        assert next(name for _, name, _ in seen if name == "run")
        remove_run(root / ".ralph", "r1")
        assert [name for _, name, _ in seen][-1] == "gone"
        assert client.get("/api/runs/r1").status_code == 404
        assert client.post("/api/runs/r1/stop", json={}).status_code == 409


def test_a_run_that_ends_is_seen_to_end(site: Site, live: LiveRun) -> None:
    with site.client() as client, client.stream("GET", "/api/stream", params={"run": "r1"}) as answer:
        seen = frames(answer.iter_lines())
        live.iterate(1)
        live.end()
        ended = next(data for _, name, data in seen if name == "run" and data["run"]["state"] == "completed")
        assert ended["run"]["reason"] == "all done"
        assert ended["run"]["can"] == []


def test_a_project_without_a_record_is_watched_until_one_comes(tmp_path: Path) -> None:
    root = tmp_path / "empty"
    root.mkdir()
    with served(root) as site, site.client() as client, client.stream("GET", "/api/stream") as answer:
        seen = frames(answer.iter_lines())
        assert next(data for _, name, data in seen)["runs"] == []
        run = LiveRun(root / ".ralph")
        try:
            found = next(data for _, name, data in seen if data["runs"])
            assert found["runs"][0]["id"] == "r1"
        finally:
            run.close()


async def _read(client: httpx.AsyncClient, until: str, ready: asyncio.Event, waiting: list[int]) -> list[str]:
    heard: list[str] = []
    async with client.stream("GET", "/api/stream", params={"run": "r1"}) as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            if line == "event: run" and waiting[0]:
                waiting[0] -= 1
                if not waiting[0]:
                    ready.set()
            if line.startswith("data: ") and '"items"' in line:
                heard += [item["text"] for item in json.loads(line[6:])["items"]]
                if heard[-1] == until:
                    return heard
    return heard


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_two_hundred_readers_all_hear_everything_in_order(site: Site, live: LiveRun) -> None:
    words = [f"word {number}" for number in range(60)]

    async def readers() -> list[list[str]]:
        ready, waiting = asyncio.Event(), [READERS]
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        headers = {"authorization": f"Bearer {site.token}"}
        async with httpx.AsyncClient(
            base_url=site.base, headers=headers, timeout=DEADLINE, limits=limits, trust_env=False
        ) as client:
            reading = [asyncio.create_task(_read(client, words[-1], ready, waiting)) for _ in range(READERS)]
            await asyncio.wait_for(ready.wait(), DEADLINE)
            for begin in range(0, len(words), 20):
                live.say(*words[begin : begin + 20])
                await asyncio.sleep(0)
            return list(await asyncio.wait_for(asyncio.gather(*reading), DEADLINE))

    heard = asyncio.run(readers())
    assert len(heard) == READERS
    assert all(each == words for each in heard)
