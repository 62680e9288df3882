"""With a key, nothing of a job can be read on the server; without it, that is all that can be seen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest
from temporalio.api.common.v1 import Payload
from temporalio.client import Client

from ralph.adapters.temporal.client import TemporalFleet, check_key
from ralph.adapters.temporal.codec import (
    FleetCodec,
    Keys,
    Sealed,
    converter_of,
    make_key,
    read_keys,
)
from ralph.adapters.temporal.connection import connect
from ralph.domain.fleet.board import needs_person
from ralph.domain.fleet.job import JobSpec
from ralph.domain.fleet.progress import JobProgress, Phase
from ralph.domain.fleet.shift import ShiftEnd, Steer
from ralph.domain.fleet.views import FleetLimits, JobView, ScheduleView
from ralph.errors import ConfigError, ServiceRefused
from tests.fleet.world.crew import at_work, ended, instantly, until
from tests.fleet.world.server import Server

OLD, NEW = make_key(), make_key()
PROMPT = "a prompt that is nobody's business"


def keys(*words: str) -> Keys:
    return read_keys({"RALPH_FLEET_KEY": ",".join(words)})


def seal(given: Keys, text: str = PROMPT) -> Payload:
    (payload,) = asyncio.run(FleetCodec(given).encode([Payload(metadata={"a": b"b"}, data=text.encode())]))
    return payload


def unseal(given: Keys, payload: Payload) -> Payload:
    (found,) = asyncio.run(FleetCodec(given).decode([payload]))
    return found


def test_there_and_back() -> None:
    sealed = seal(keys(NEW))
    assert PROMPT.encode() not in sealed.SerializeToString()
    assert unseal(keys(NEW), sealed) == Payload(metadata={"a": b"b"}, data=PROMPT.encode())


def test_the_same_words_are_never_the_same_bytes() -> None:
    assert len({seal(keys(NEW)).data for _ in range(50)}) == 50


def test_a_new_key_comes_first_and_the_old_one_still_reads() -> None:
    both = keys(NEW, OLD)
    assert unseal(both, seal(keys(OLD))).data == PROMPT.encode()
    assert unseal(keys(NEW), seal(both)).data == PROMPT.encode()


@pytest.mark.parametrize("given", [keys(OLD), Keys()], ids=["another key", "no key"])
def test_whoever_has_not_the_key(given: Keys) -> None:
    with pytest.raises(Sealed, match="encrypted with the key"):
        unseal(given, seal(keys(NEW)))


@pytest.mark.parametrize("place", [0, 20, 40, -1], ids=["salt", "nonce", "text", "tag"])
def test_what_somebody_changed_is_not_read(place: int) -> None:
    sealed = seal(keys(NEW))
    data = bytearray(sealed.data)
    data[place] ^= 1
    with pytest.raises(Sealed, match="changed"):
        unseal(keys(NEW), Payload(metadata=sealed.metadata, data=bytes(data)))


def test_what_is_cut_short_is_not_read() -> None:
    sealed = seal(keys(NEW))
    for length in (0, 10, 28, len(sealed.data) - 1):
        with pytest.raises(Sealed, match="changed"):
            unseal(keys(NEW), Payload(metadata=sealed.metadata, data=sealed.data[:length]))


def test_words_of_somebody_without_the_key_do_not_count() -> None:
    plain = seal(Keys())
    assert plain.data == PROMPT.encode()
    with pytest.raises(Sealed, match="not encrypted"):
        unseal(keys(NEW), plain)
    assert unseal(keys(NEW, "plain"), plain) == plain


def test_keys_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# of this year\n{NEW}\n{OLD}  # until march\n")
    assert read_keys({"RALPH_FLEET_KEY_FILE": str(file)}) == keys(NEW, OLD)


@pytest.mark.parametrize(
    "environment",
    [
        {"RALPH_FLEET_KEY": "short"},
        {"RALPH_FLEET_KEY": "c2hvcnQ="},
        {"RALPH_FLEET_KEY": NEW[:-4]},
        {"RALPH_FLEET_KEY": "plain"},
        {"RALPH_FLEET_KEY": " "},
        {"RALPH_FLEET_KEY": NEW, "RALPH_FLEET_KEY_FILE": "/x"},
        {"RALPH_FLEET_KEY_FILE": "/nowhere/at/all"},
        {"RALPH_FLEET_KEY_FILE": "/dev/zero"},
    ],
)
def test_what_is_no_key(environment: dict[str, str]) -> None:
    with pytest.raises(ConfigError) as raised:
        read_keys(environment)
    assert NEW[:-4] not in raised.value.message + raised.value.hint


def test_everything_that_a_fleet_says_survives() -> None:
    end = ShiftEnd(turn=3, outcome="completed", cost=None, maximum=7)
    progress = JobProgress(
        turn=3, phase=Phase.MERGING, last=end, unmet=("a", "b"), notes=(Steer(number=1, text=PROMPT),)
    )
    limits = FleetLimits(sessions=(("claude", 3),), max_cost=1.5)
    values = [JobSpec(id="x", repository="r", command=("run", PROMPT)), progress, limits]
    converter = converter_of(keys(NEW))

    async def there_and_back() -> list[object]:
        return await converter.decode(await converter.encode(values), [type(value) for value in values])

    assert asyncio.run(there_and_back()) == values


def test_nothing_can_be_read_on_the_server(own_server: Server) -> None:
    locked = {**own_server.environment, "RALPH_FLEET_KEY": NEW}
    secrets = {"prompt": "harvest-moon-prompt", "note": "harvest-moon-note", "cron": "harvest-moon-cron"}

    async def use() -> None:
        fleet = TemporalFleet(await connect(locked))
        await fleet.submit(
            JobSpec(id="job", repository="https://harvest-moon-host/x", command=("run", secrets["prompt"]))
        )
        await fleet.steer("job", secrets["note"])
        await fleet.schedule(
            "nightly", JobSpec(id="", repository="r", command=(secrets["cron"],)), cron="0 3 * * *"
        )
        assert (await fleet.job("job")).spec.command == ("run", secrets["prompt"])

        async def listed() -> ScheduleView | None:
            return next(iter(await fleet.schedules()), None)

        schedule = await until(listed)
        assert schedule.spec.command == (secrets["cron"],)
        assert schedule.cron == "0 3 * * *"

    asyncio.run(use())
    asyncio.run(_plain_marker(own_server))
    own_server.kill()
    written = b"".join(file.read_bytes() for file in own_server.folder.glob("temporal.db*"))
    assert b"in-the-open" in written  # the search can find something
    assert b"harvest-moon" not in written
    assert b"harvest-moon" not in own_server.log.read_bytes()


async def _plain_marker(server: Server) -> None:
    client = await Client.connect(server.address)
    await client.start_workflow("Nobody", "in-the-open", id="open", task_queue="nobody")


def test_a_submitter_with_another_key_is_told(server: Server) -> None:
    """Nobody would do its jobs."""

    async def use() -> None:
        fleet = TemporalFleet(await connect({**server.environment, "RALPH_FLEET_KEY": NEW}))
        await fleet.submit(JobSpec(id="job", repository="r"))
        await fleet.pause("job")
        async with at_work(server, instantly(1), RALPH_FLEET_KEY=NEW):
            await until(partial(_is_paused, fleet))
        for other in ({}, {"RALPH_FLEET_KEY": OLD}):
            client = await connect({**server.environment, **other})
            await until(partial(_is_refused, client))
            with pytest.raises(ServiceRefused, match="its job job is encrypted with the key"):
                await TemporalFleet(client).submit(JobSpec(id="other", repository="r"))
            for word in (TemporalFleet.pause, TemporalFleet.unpause, TemporalFleet.retry):
                with pytest.raises(ServiceRefused, match="job job cannot be read here: it is encrypted"):
                    await word(TemporalFleet(client), "job")
        both = {**server.environment, "RALPH_FLEET_KEY": f"{OLD} {NEW}"}
        assert await TemporalFleet(await connect(both)).submit(JobSpec(id="other", repository="r"))

    asyncio.run(use())


async def _listed(fleet: TemporalFleet) -> Sequence[JobView] | None:
    return await fleet.jobs() or None


async def _is_refused(client: Client) -> bool | None:
    """The server's lists are a moment late."""
    try:
        await check_key(client)
    except ServiceRefused:
        return True
    return None


async def _is_paused(fleet: TemporalFleet) -> bool | None:
    return (await fleet.job("job")).progress.phase is Phase.PAUSED or None


def test_a_job_that_no_worker_can_read_holds_up_nobody_and_can_be_stopped(server: Server) -> None:
    async def use() -> None:
        sealed = TemporalFleet(await connect({**server.environment, "RALPH_FLEET_KEY": NEW}))
        await sealed.submit(JobSpec(id="sealed", repository="r"))
        plain = TemporalFleet(await connect(server.environment))
        await until(partial(_listed, plain))
        async with at_work(server, instantly(1)):
            assert await plain.submit(JobSpec(id="plain", repository="r"))
            await ended(plain, "plain")
            await plain.stop("sealed")
            over = await plain.job("sealed")
        assert (over.is_open, needs_person(over)) == (False, False)
        assert "does not have its key" in (await sealed.job("sealed")).problem

    asyncio.run(use())


def test_a_reader_without_the_key_sees_the_job(server: Server) -> None:
    async def use() -> None:
        job = JobSpec(id="job", repository="r", command=("run", PROMPT))
        await TemporalFleet(await connect({**server.environment, "RALPH_FLEET_KEY": NEW})).submit(job)
        for other in ({}, {"RALPH_FLEET_KEY": OLD}):
            fleet = TemporalFleet(await connect({**server.environment, **other}))
            listed = (await until(partial(_listed, fleet)))[0]
            assert listed.spec == JobSpec(id="job", repository="")
            assert listed.is_open
            assert "encrypted" in listed.sealed
            assert await fleet.job("job") == listed

    asyncio.run(use())
