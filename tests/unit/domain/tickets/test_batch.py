"""Tickets without a check of their own, put together by their headings: nothing is lost, and nothing waits for itself."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.circles import find_circles
from ralph.domain.tasks.entry import id_problem
from ralph.domain.tickets.batch import MOST_TOGETHER, add_notes, batch, merge, parts_of, smallness
from ralph.domain.tickets.ticket import Ticket


def ticket(key: str, group: str = "Setup", *blockers: str, own: bool = False, text: str = "") -> Ticket:
    return Ticket(
        key=key,
        shown=key,
        task_id=f"photos-{key}",
        title=f"Do {key}",
        text=text,
        criteria=(f"Do {key}",),
        has_own_check=own,
        blockers=blockers,
        spec="photos",
        group=group,
    )


def needs(tickets: tuple[Ticket, ...]) -> dict[str, tuple[str, ...]]:
    return {one.key: one.blockers for one in tickets}


def test_those_of_a_heading_become_one() -> None:
    made = batch(
        [
            ticket("T001"),
            ticket("T002", "Setup", "T001"),
            ticket("T003", "Story", "T002"),
            ticket("T004", "Story", "T003"),
            ticket("T005", "Polish", "T004"),
        ]
    )

    assert needs(made) == {"T001+T002": (), "T003+T004": ("T001+T002",), "T005": ("T003+T004",)}
    first = made[0]
    assert first.title == "Setup"
    assert first.criteria == ("T001: Do T001", "T002: Do T002")
    assert first.has_own_check
    assert first.shown == "T001, T002"
    assert id_problem(first.task_id) is None
    assert first.task_id.startswith("photos-T001-to-T002-")
    assert smallness(made) == ""  # one alone is not worth a word


def test_what_has_a_check_of_its_own_stays_alone() -> None:
    made = batch([ticket("T001"), ticket("T002", own=True), ticket("T003")])

    assert needs(made) == {"T001+T003": (), "T002": ()}


def test_one_that_comes_in_between_parts_a_batch() -> None:
    """Otherwise T002 would wait for the batch, and the batch for T002."""
    made = batch(
        [
            ticket("T001"),
            ticket("T002", "Setup", "T001", own=True),
            ticket("T003", "Setup", "T002"),
            ticket("T004"),
        ]
    )

    assert needs(made) == {"T001": (), "T002": ("T001",), "T003+T004": ("T002",)}


def test_two_headings_that_wait_for_each_other_are_parted() -> None:
    made = batch(
        [ticket("A1", "A"), ticket("B1", "B", "A1"), ticket("A2", "A", "B1"), ticket("B2", "B", "A2")]
    )

    assert list(find_circles(needs(made))) == []
    assert {part for one in made for part in parts_of(one.key)} == {"A1", "A2", "B1", "B2"}


def test_a_batch_stays_small_enough_for_a_session() -> None:
    made = batch([ticket(f"T{number:03}") for number in range(MOST_TOGETHER + 5)])

    assert [len(parts_of(one.key)) for one in made] == [MOST_TOGETHER, 5]
    assert all(id_problem(one.task_id) is None for one in made)


def test_lists_and_headings_are_kept_apart() -> None:
    other = replace(ticket("1"), spec="videos")

    assert len(batch([ticket("T001"), other])) == 2
    assert len(batch([replace(ticket(key), spec="", group="") for key in ("1", "2")])) == 2  # of a tracker


def test_what_a_heading_says_is_said_once_and_its_test_must_pass() -> None:
    notes = ("Goal: albums", "Independent Test: upload a photo", "Checkpoint: it works")
    made = batch(
        [ticket("T001", text=add_notes("Mind the dates.", notes)), ticket("T002", text=add_notes("", notes))]
    )

    assert made[0].criteria == (
        "T001: Do T001",
        "T002: Do T002",
        "Independent Test: upload a photo",
        "Checkpoint: it works",
    )
    assert made[0].text.count("Goal: albums") == 1
    assert made[0].text.startswith("- T001: Do T001\n  Mind the dates.\n- T002: Do T002\n")


def test_what_the_parts_say_is_summed_up() -> None:
    one = replace(
        ticket("T001", "Setup", "X"), priority=3, estimate=2.0, context=("a.md",), left_out=("this",)
    )
    two = replace(ticket("T002", "Setup", "X", "T001"), estimate=1.0, context=("a.md", "b.md"), is_open=False)

    made = merge([one, two])

    assert (made.priority, made.estimate, made.context, made.left_out) == (
        3,
        3.0,
        ("a.md", "b.md"),
        ("this",),
    )
    assert made.blockers == ("X",)
    assert made.is_open
    assert not merge([two, two]).is_open


def test_keys_name_their_parts() -> None:
    assert parts_of("T001") == ("T001",)
    assert parts_of("T001+T002") == ("T001", "T002")
    assert parts_of("a+b:c/tasks.md:T001+T002") == ("a+b:c/tasks.md:T001", "a+b:c/tasks.md:T002")
    keys = ["001/tasks.md:1.1", "001/tasks.md:1.2"]
    assert parts_of(merge([ticket(key) for key in keys]).key) == tuple(keys)


def test_people_read_the_common_part_of_a_name_once() -> None:
    names = [f"001-photos T{number:03}" for number in range(1, 6)]

    def shown(*some: str) -> str:
        return merge([replace(ticket(f"{number}"), shown=one) for number, one in enumerate(some)]).shown

    assert shown(*names[:2]) == "001-photos T001, T002"
    assert shown(*names) == "001-photos T001 … T005 (5)"
    assert shown("T001", "T002", "T003", "T004") == "T001 … T004 (4)"
    assert shown("a T001", "b T002") == "a T001, b T002"


def test_a_warning_names_a_few() -> None:
    some = [ticket(f"T{number}", own=number > 11) for number in range(15)]

    assert smallness(some) == (
        "12 of 15 tasks have no check of their own (T0, T1, T2, T3, T4 and 7 more): each would be a session of its own, with"
        " nothing but its title to judge it by"
    )
    assert smallness([]) == ""


def reached_from(start: str, needed: dict[str, tuple[str, ...]]) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += needed.get(key, ())
    return found


@st.composite
def plans(draw: st.DrawFn) -> list[Ticket]:
    """Without circles, in any order."""
    count = draw(st.integers(min_value=0, max_value=12))
    made = []
    for number in range(count):
        blockers = (
            draw(st.lists(st.sampled_from([f"T{one}" for one in range(number)]), unique=True))
            if number
            else []
        )
        group = draw(st.sampled_from("AB"))
        made.append(ticket(f"T{number}", group, *blockers, own=draw(st.booleans())))
    return draw(st.permutations(made))


@given(plans())
def test_nothing_is_lost_and_nothing_waits_for_itself(tickets: list[Ticket]) -> None:
    made = batch(tickets)
    needed = needs(made)
    home = {part: one.key for one in made for part in parts_of(one.key)}

    assert sorted(part for one in made for part in parts_of(one.key)) == sorted(one.key for one in tickets)
    assert list(find_circles(needed)) == []
    assert len({one.task_id for one in made}) == len(made)
    for one in tickets:
        reached = reached_from(home[one.key], needed)
        assert {home[key] for key in one.blockers} <= reached
    by_key = {one.key: one for one in tickets}
    for one in made:
        members = [by_key[part] for part in parts_of(one.key)]
        assert len({member.group for member in members}) == 1
        assert len(members) == 1 or not any(member.has_own_check for member in members)


def test_blockers_that_are_elsewhere_stay_and_circles_do_no_harm() -> None:
    made = batch([ticket("T001", "A", "elsewhere"), ticket("T002", "B", "T003"), ticket("T003", "C", "T002")])

    assert made[0].blockers == ("elsewhere",)
    assert len(made) == 3
