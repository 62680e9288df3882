"""Which sandbox a run gets, and what is said about it."""

from __future__ import annotations

import asyncio

import pytest

from ralph.adapters.isolation.choice import Choice, look_at_all, open_sandbox
from ralph.domain.sandbox.kind import AUTO, STRONGEST, SandboxKind
from ralph.domain.sandbox.policy import Guarantees, SandboxPolicy
from ralph.errors import AgentUnavailable, UsageError

from .stand_ins import StandIns

IMAGE = SandboxPolicy(image="agents:1")


def choose(stand_ins: StandIns, asked: str, policy: SandboxPolicy = IMAGE) -> Choice:
    async def run() -> Choice:
        async with open_sandbox(asked, stand_ins.site(), policy, stand_ins.runner()) as chosen:
            return chosen

    return asyncio.run(run())


def kind_of(chosen: Choice) -> SandboxKind:
    return chosen.guarantees.kind


@pytest.mark.parametrize("asked", [AUTO, STRONGEST])
@pytest.mark.parametrize(
    ("installed", "expected"),
    [
        (("sbx", "docker", "srt"), SandboxKind.SBX),
        (("docker", "srt"), SandboxKind.CONTAINER),
        (("srt",), SandboxKind.SRT),
    ],
)
def test_the_strongest_that_works_is_taken(
    stand_ins: StandIns, asked: str, installed: tuple[str, ...], expected: SandboxKind
) -> None:
    stand_ins.install(*installed)
    chosen = choose(stand_ins, asked)
    assert kind_of(chosen) is expected
    assert chosen.why.startswith(f"sandbox {expected}: the strongest that works here")


def test_auto_says_why_stronger_ones_were_passed_over(stand_ins: StandIns) -> None:
    stand_ins.install("sbx", "srt")
    stand_ins.answer((["ls"], 1, "", "not signed in\n"))
    assert choose(stand_ins, "auto").why == (
        "sandbox srt: the strongest that works here (sbx does not work: not signed in; try `sbx login`; "
        "bwrap is not installed (package bubblewrap); container: neither podman nor docker is installed)"
        "; what it promises was not examined from inside"
    )


def test_auto_without_any_goes_on_and_says_so(stand_ins: StandIns) -> None:
    chosen = choose(stand_ins, "auto")
    assert chosen.sandbox is None
    assert chosen.why.startswith("no sandbox: none works here (sbx of Docker Sandboxes is not installed")
    assert chosen.guarantees.lines()[0] == "writes: not confined"


@pytest.mark.parametrize("asked", [AUTO, STRONGEST])
def test_one_that_cannot_be_opened_is_passed_over_and_closed(stand_ins: StandIns, asked: str) -> None:
    stand_ins.install("sbx", "docker")
    stand_ins.answer((["create"], 1, "", "no room\n"))
    chosen = choose(stand_ins, asked)
    assert kind_of(chosen) is SandboxKind.CONTAINER
    assert "(sbx: cannot set up the sandbox: `sbx create" in chosen.why
    assert "no room" in chosen.why


@pytest.mark.parametrize("asked", [AUTO, STRONGEST, "sbx"])
def test_one_that_cannot_be_opened_is_refused_if_none_is_left(stand_ins: StandIns, asked: str) -> None:
    stand_ins.install("sbx")
    stand_ins.answer((["create"], 1, "", "no room\n"))
    with pytest.raises(AgentUnavailable, match="no room") as caught:
        choose(stand_ins, asked)
    assert "sbx diagnose" in caught.value.hint


def test_a_bare_flag_without_any_is_an_error_with_what_to_do(stand_ins: StandIns) -> None:
    with pytest.raises(
        AgentUnavailable, match="no sandbox works here: sbx of Docker Sandboxes is not installed"
    ) as caught:
        choose(stand_ins, STRONGEST)
    assert "install bubblewrap" in caught.value.hint
    assert caught.value.exit_code == 4


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("sbx", "the sandbox sbx cannot be used: sbx of Docker Sandboxes is not installed"),
        ("bwrap", "the sandbox bwrap cannot be used: bwrap is not installed"),
        ("container", "the sandbox container cannot be used: neither podman nor docker"),
        ("srt", "the sandbox srt cannot be used: srt is not installed"),
    ],
)
def test_asking_for_one_that_is_not_there_is_an_error(stand_ins: StandIns, asked: str, message: str) -> None:
    with pytest.raises(AgentUnavailable, match=message) as caught:
        choose(stand_ins, asked)
    assert "--no-sandbox" in caught.value.hint


def test_a_container_needs_an_image(stand_ins: StandIns) -> None:
    stand_ins.install("docker")
    with pytest.raises(AgentUnavailable, match=r"no image: set sandbox\.image"):
        choose(stand_ins, "container", SandboxPolicy())


def test_a_daemon_that_does_not_answer_is_told(stand_ins: StandIns) -> None:
    stand_ins.install("docker")
    stand_ins.answer((["info"], 1, "", "warning\nCannot connect to the daemon\n"))
    with pytest.raises(AgentUnavailable, match="docker does not work: Cannot connect to the daemon"):
        choose(stand_ins, "container")


def test_none_is_a_choice_and_a_word_nobody_knows_is_not(stand_ins: StandIns) -> None:
    chosen = choose(stand_ins, "none")
    assert chosen.sandbox is None
    assert chosen.why == "no sandbox: the agent can do whatever you can"
    with pytest.raises(UsageError, match="there is no sandbox 'jail'"):
        choose(stand_ins, "jail")


def test_the_doctor_hears_about_every_kind(stand_ins: StandIns) -> None:
    stand_ins.install("srt")
    found = asyncio.run(look_at_all(stand_ins.site(), IMAGE, stand_ins.runner()))
    assert list(found) == [SandboxKind.SBX, SandboxKind.BWRAP, SandboxKind.CONTAINER, SandboxKind.SRT]
    assert [kind for kind, seen in found.items() if isinstance(seen, Guarantees)] == [SandboxKind.SRT]


def test_each_kind_promises_only_what_it_keeps(stand_ins: StandIns) -> None:
    stand_ins.install("sbx", "docker", "srt")
    for asked in ("sbx", "container", "srt"):
        lines = choose(stand_ins, asked).guarantees.lines()
        assert [line.partition(":")[0] for line in lines] == [
            "writes",
            "secrets",
            "network",
            "processes",
            "limits",
            "kernel",
        ]
    assert "network: not confined" in choose(stand_ins, "container").guarantees.lines()
    assert "processes: not confined" in choose(stand_ins, "srt").guarantees.lines()
