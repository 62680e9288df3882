"""What a look at a source means: what comes, what changes, what goes, and what stays out and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.task import TaskStatus
from ralph.domain.tickets.gate import NOTHING_TO_CHECK
from ralph.domain.tickets.hold import DONE, label_of
from ralph.domain.tickets.intake import (
    Arrival,
    Gone,
    Intake,
    Sight,
    Unready,
    named_blockers,
    plan_intake,
    unlisted,
)
from ralph.domain.tickets.known import KnownTicket
from ralph.domain.tickets.task_text import fingerprint
from ralph.domain.tickets.ticket import Ticket

SOURCE = "github:octo/hello"
OPEN, CANCELLED, FAILED = TaskStatus.OPEN, TaskStatus.CANCELLED, TaskStatus.FAILED


def ticket(key: str, *blockers: str, **more: object) -> Ticket:
    made = Ticket(
        key=key,
        shown=f"#{key}",
        task_id=f"hello-{key}",
        title=f"Do {key}",
        labels=("ralph",),
        criteria=("it is done",),
        blockers=blockers,
    )
    return replace(made, **more)  # type: ignore[arg-type]


def known(one: Ticket, **more: object) -> KnownTicket:
    made = KnownTicket(
        source=SOURCE,
        key=one.key,
        task_id=one.task_id,
        shown=one.shown,
        url=one.url,
        labels=("ralph",),
        seen=fingerprint(one),
    )
    return replace(made, **more)  # type: ignore[arg-type]


def see(
    *tickets: Ticket,
    before: Sequence[KnownTicket] = (),
    statuses: Mapping[str, TaskStatus] | None = None,
    begun: Sequence[str] = (),
    blockers: Mapping[str, Ticket | None] | None = None,
    gone: Mapping[str, Ticket | None] | None = None,
    is_shared: bool = True,
) -> Sight:
    """By default the tasks of known tickets are open."""
    own = {one.task_id.lower(): OPEN for one in before}
    return Sight(
        source=SOURCE,
        labels=("ralph",) if is_shared else (),
        holder="me-1",
        is_shared=is_shared,
        tickets=tickets,
        known={one.key: one for one in before},
        statuses={**own, **(statuses or {})},
        begun=frozenset(begun),
        blockers=blockers or {},
        gone=gone or {},
    )


def ids(arrivals: Sequence[Arrival]) -> list[str]:
    return [one.task.id for one in arrivals]


def reasons(intake: Intake) -> dict[str, str]:
    return {one.ticket.key: one.reason for one in intake.unready}


# --- new, changed, edited, gone ---


def test_a_new_ticket_becomes_a_task_with_what_is_to_be_remembered() -> None:
    one = ticket("1", url="https://tracker.test/1", priority=3)
    found = plan_intake(see(one))
    assert ids(found.new) == ["hello-1"]
    assert found.new[0].task.priority == 3
    assert found.new[0].known == known(one)
    assert not found.is_empty
    assert (found.changed, found.edited, found.unready, found.gone, found.unchanged) == ((), (), (), (), 0)


def test_nothing_is_there() -> None:
    assert plan_intake(see()).is_empty


def test_one_that_is_as_it_was_is_left_alone() -> None:
    one = ticket("1")
    found = plan_intake(see(replace(one, labels=("ralph", label_of("me-1"))), before=[known(one)]))
    assert (found.unchanged, found.is_empty) == (1, True)


def test_one_that_nobody_has_begun_changes() -> None:
    one = ticket("1")
    found = plan_intake(see(replace(one, title="Do it well"), before=[known(one)]))
    assert (ids(found.changed), found.edited) == (["hello-1"], ())
    assert found.changed[0].task.title == "Do it well"


def test_one_that_somebody_works_on_was_edited() -> None:
    one = ticket("1")
    found = plan_intake(see(replace(one, title="Do it well"), before=[known(one)], begun=["hello-1"]))
    assert (found.changed, ids(found.edited)) == ((), ["hello-1"])


def test_an_edit_that_was_told_is_not_told_again() -> None:
    one = ticket("1")
    edited = replace(one, title="Do it well")
    before = known(one, noted=fingerprint(edited))
    found = plan_intake(see(edited, before=[before], begun=["hello-1"]))
    assert (found.unchanged, found.is_empty) == (1, True)


def test_whoever_was_told_of_an_edit_is_told_that_it_was_taken_back() -> None:
    one = ticket("1")
    before = known(one, noted=fingerprint(replace(one, title="Do it well")))
    assert ids(plan_intake(see(one, before=[before], begun=["hello-1"])).edited) == ["hello-1"]


def test_one_that_was_told_of_but_is_not_begun_gets_the_new_words() -> None:
    """Somebody stood ready to begin when it was edited, and did not."""
    one = ticket("1")
    edited = replace(one, title="Do it well")
    found = plan_intake(see(edited, before=[known(one, noted=fingerprint(edited))]))
    assert ids(found.changed) == ["hello-1"]


def test_a_task_keeps_its_name_when_its_ticket_would_have_another() -> None:
    one = ticket("1")
    moved = replace(one, task_id="renamed-1", title="Do it well")
    found = plan_intake(see(moved, ticket("2", "1"), before=[known(one)]))
    assert ids(found.changed) == ["hello-1"]
    assert found.new[0].task.dependencies == ("hello-1",)


@pytest.mark.parametrize(
    "status", [TaskStatus.DONE, TaskStatus.CANCELLED, TaskStatus.ACCEPTED], ids=lambda status: status.value
)
def test_what_is_over_is_not_touched_whatever_becomes_of_its_ticket(status: TaskStatus) -> None:
    one = ticket("1")
    over = {"hello-1": status}
    edited = plan_intake(
        see(replace(one, text="more"), before=[known(one)], statuses=over, begun=["hello-1"])
    )
    closed = plan_intake(see(before=[known(one)], statuses=over, gone={"1": replace(one, is_open=False)}))
    assert edited.is_empty
    assert closed.is_empty


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (None, "its ticket #1 is not there any more"),
        (ticket("1", is_open=False), "its ticket #1 is not wanted any more: it is closed"),
        (ticket("1", labels=()), "its ticket #1 is not wanted any more: it has no label ralph"),
        (ticket("1", is_trusted=False), "its ticket #1 is not wanted any more: it was written by someone"),
        (ticket("1", labels=("ralph", DONE)), "its ticket #1 is not wanted any more: it is done"),
    ],
)
def test_one_that_is_not_wanted_any_more_goes(now: Ticket | None, reason: str) -> None:
    (gone,) = plan_intake(see(before=[known(ticket("1"))], gone={"1": now})).gone
    assert gone.known.task_id == "hello-1"
    assert gone.reason.startswith(reason)


def test_one_that_is_listed_may_have_lost_its_label_or_author_all_the_same() -> None:
    one = ticket("1")
    (gone,) = plan_intake(see(replace(one, is_trusted=False), before=[known(one)])).gone
    assert gone.known.key == "1"


def test_one_that_is_not_listed_and_still_wanted_stays() -> None:
    one = ticket("1")
    assert plan_intake(see(before=[known(one)], gone={"1": one})).is_empty


def test_one_of_a_file_goes_when_a_person_ticks_it() -> None:
    one = ticket("1", labels=())
    found = plan_intake(see(before=[known(one)], gone={"1": replace(one, is_open=False)}, is_shared=False))
    assert [gone.reason for gone in found.gone] == ["its ticket #1 is closed"]


def test_what_has_failed_is_not_cancelled_over_and_over() -> None:
    """Nothing can be cancelled about it."""
    one = ticket("1")
    failed = {"hello-1": FAILED}
    assert plan_intake(
        see(before=[known(one)], statuses=failed, begun=["hello-1"], gone={"1": None})
    ).is_empty


def test_only_one_that_is_closed_or_deleted_is_waited_for_no_longer() -> None:
    one = ticket("1")
    for now, is_settled in (
        (None, True),
        (replace(one, is_open=False), True),
        (replace(one, labels=()), False),
    ):
        assert [gone.is_settled for gone in plan_intake(see(before=[known(one)], gone={"1": now})).gone] == [
            is_settled
        ]


# --- who stays out ---


@pytest.mark.parametrize(
    ("one", "reason", "is_askable"),
    [
        (ticket("1", criteria=()), NOTHING_TO_CHECK, True),
        (ticket("1", title=" "), "it has no title", True),
        (ticket("1", labels=("Ralph", label_of("other"))), "other works on it", False),
        (ticket("1", labels=("bug",)), "it has no label ralph", False),
        (ticket("1", is_trusted=False, criteria=()), "it was written by someone", False),
        (ticket("1", labels=("ralph", DONE)), "it is done", False),
        (ticket("1", is_open=False), "it is closed", False),
    ],
)
def test_what_is_not_ready_is_not_begun_and_says_why(one: Ticket, reason: str, is_askable: bool) -> None:
    found = plan_intake(see(one))
    (unready,) = found.unready
    assert unready.reason.startswith(reason)
    assert unready.is_askable is is_askable, "only what whoever wrote it can add is asked for"
    assert found.is_empty


def test_a_source_of_one_s_own_needs_no_labels_and_knows_no_holders() -> None:
    found = plan_intake(see(ticket("1", labels=(label_of("other"),)), is_shared=False))
    assert ids(found.new) == ["hello-1"]


def test_this_machine_s_own_name_keeps_nothing_out() -> None:
    assert ids(plan_intake(see(ticket("1", labels=("ralph", label_of("me-1"))))).new) == ["hello-1"]


@pytest.mark.parametrize("name", ["hello-1", "HELLO-1"])
def test_a_task_of_the_same_name_is_not_replaced(name: str) -> None:
    found = plan_intake(see(ticket("1", task_id=name), ticket("2", "1"), statuses={"hello-1": OPEN}))
    marked, other = ids(found.new)
    assert marked.startswith(f"{name}-"), "two repositories may have one name: the second gets a mark"
    assert (other, found.new[1].dependencies) == ("hello-2", (marked,))
    again = plan_intake(see(ticket("1", task_id=name), statuses={"hello-1": OPEN, marked.lower(): OPEN}))
    assert reasons(again) == {"1": f"there is a task {name} already, which is not from this source"}


def test_of_two_that_would_have_one_name_the_first_comes() -> None:
    """Two of them in one list would keep all the others out, too."""
    found = plan_intake(see(ticket("1"), ticket("2", task_id="HELLO-1"), ticket("3")))
    assert ids(found.new) == ["hello-1", "hello-3"]
    assert reasons(found) == {"2": "its task would be called HELLO-1, like that of #1"}


def test_one_that_is_not_ready_keeps_no_name() -> None:
    found = plan_intake(see(ticket("1", criteria=()), ticket("2", task_id="hello-1")))
    assert ids(found.new) == ["hello-1"]
    assert list(reasons(found)) == ["1"]


def test_a_known_one_that_is_not_ready_any_more_keeps_its_task() -> None:
    one = ticket("1")
    found = plan_intake(see(replace(one, criteria=()), before=[known(one)]))
    assert (found.changed, found.gone, found.unready) == ((), (), ())
    (held,) = found.held
    assert held.known == known(one, waits=NOTHING_TO_CHECK)
    assert held.known is not None
    again = plan_intake(see(replace(one, criteria=()), before=[held.known]))
    assert again.is_empty, "said once"
    back = plan_intake(see(one, before=[held.known]))
    assert [arrival.known.waits for arrival in back.changed] == [""], "and begun when it is ready again"


@pytest.mark.parametrize(
    ("change", "begun"),
    [
        ({"criteria": ()}, ["hello-1"]),  # it is worked on, and judged as before
        ({"criteria": (), "labels": ("ralph", label_of("other"))}, []),  # another machine's business
        ({"criteria": (), "is_trusted": None}, []),
    ],
)
def test_what_is_not_begun_for_another_reason_is_not_held_back(
    change: dict[str, object], begun: list[str]
) -> None:
    one = ticket("1")
    assert plan_intake(see(replace(one, **change), before=[known(one)], begun=begun)).held == ()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("is_withdrawn", "status", "is_back"),
    [(True, CANCELLED, True), (False, CANCELLED, False), (True, OPEN, False), (True, TaskStatus.DONE, False)],
)
def test_what_a_look_cancelled_a_look_restores_and_what_a_person_cancelled_stays_so(
    is_withdrawn: bool, status: TaskStatus, is_back: bool
) -> None:
    one = ticket("1")
    before = known(one, is_withdrawn=is_withdrawn)
    found = plan_intake(see(one, before=[before], statuses={"hello-1": status}))
    assert ids(found.restored) == (["hello-1"] if is_back else [])
    assert (found.changed, found.new) == ((), ())


# --- what waits for something ---


def test_blockers_become_dependencies_wherever_they_come_from() -> None:
    old = ticket("1")
    found = plan_intake(see(ticket("3", "1", "2", "2"), ticket("2"), before=[known(old)]))
    assert ids(found.new) == ["hello-3", "hello-2"]
    assert found.new[0].task.dependencies == ("hello-1", "hello-2")


@pytest.mark.parametrize("outside", [None, ticket("9", is_open=False, labels=())])
def test_a_blocker_that_is_closed_or_was_never_there_blocks_nothing(outside: Ticket | None) -> None:
    found = plan_intake(see(ticket("1", "9"), blockers={"9": outside}))
    assert [one.task.dependencies for one in found.new] == [()]


def test_an_open_blocker_outside_keeps_a_ticket_out() -> None:
    found = plan_intake(see(ticket("1", "9"), blockers={"9": ticket("9", labels=())}))
    assert reasons(found) == {"1": "it waits for #9, which is not among the tickets here"}


def test_a_blocker_that_nobody_was_asked_about_keeps_a_ticket_out() -> None:
    """There may be more of them than are asked about in one look."""
    found = plan_intake(see(ticket("1", "9"), ticket("2", "1")))
    assert reasons(found) == {
        "1": "it waits for 9, of which nothing is known yet",
        "2": "it waits for #1, which is not ready",
    }


def test_whatever_waits_for_what_is_not_ready_is_not_ready_however_long_the_chain() -> None:
    chain = [ticket(str(number), str(number - 1)) for number in range(1, 5_000)]
    found = plan_intake(see(ticket("0", criteria=()), *chain, ticket("free")))
    assert ids(found.new) == ["hello-free"]
    assert reasons(found)["4999"] == "it waits for #4998, which is not ready"


def test_what_waits_for_a_known_ticket_comes_even_if_that_has_lost_something() -> None:
    one = ticket("1")
    found = plan_intake(see(replace(one, criteria=()), ticket("2", "1"), before=[known(one)]))
    assert [one.task.dependencies for one in found.new] == [("hello-1",)]


def test_circles_are_named_and_what_waits_for_them_too() -> None:
    found = plan_intake(
        see(ticket("1", "2"), ticket("2", "3"), ticket("3", "1"), ticket("4", "3"), ticket("5"))
    )
    assert ids(found.new) == ["hello-5"]
    circle = "these tickets wait for each other: #1 → #2 → #3 → #1"
    assert reasons(found) == {
        "1": circle,
        "2": circle,
        "3": circle,
        "4": "it waits for #3, which is not ready",
    }


def test_two_circles_through_one_ticket() -> None:
    found = plan_intake(see(ticket("1", "2"), ticket("2", "3", "4"), ticket("3", "1"), ticket("4", "3")))
    assert found.new == ()
    assert set(reasons(found)) == {"1", "2", "3", "4"}


def test_one_that_waits_for_itself() -> None:
    found = plan_intake(see(ticket("1", "1"), ticket("2", "1")))
    assert reasons(found) == {"1": "it waits for itself", "2": "it waits for #1, which is not ready"}


def test_a_known_blocker_that_was_cancelled_because_a_person_did_it_blocks_nothing() -> None:
    """Its task will never be done."""
    old = ticket("1")
    cancelled = {"hello-1": CANCELLED}
    closed = plan_intake(
        see(
            ticket("2", "1"),
            before=[known(old)],
            statuses=cancelled,
            blockers={"1": replace(old, is_open=False)},
        )
    )
    still_open = plan_intake(
        see(ticket("2", "1"), before=[known(old)], statuses=cancelled, blockers={"1": old})
    )
    assert [one.task.dependencies for one in closed.new] == [()]
    assert [one.task.dependencies for one in still_open.new] == [("hello-1",)], (
        "retry it, or close its ticket"
    )


def test_whom_to_ask_about() -> None:
    tickets = [ticket("1", "2", "7", "8"), ticket("2", "8", "9")]
    before = {"7": known(ticket("7")), "9": known(ticket("9"))}
    assert named_blockers(tickets, before, cancelled=()) == ("8",)
    assert named_blockers(tickets, before, cancelled=["hello-9"]) == ("8", "9")
    mine = {"1": known(ticket("1")), **before}
    assert unlisted(tickets, mine, over=["hello-9"], labels=("ralph",)) == ("7",)


@pytest.mark.parametrize(
    ("came_with", "listed", "is_asked"),
    [
        (("ralph",), ("ralph",), True),
        (("bug",), ("ralph",), False),
        (("ralph", "bug"), ("ralph",), False),
        ((), ("ralph",), True),  # as an earlier version wrote it
        ((), (), True),
    ],
)
def test_a_list_says_nothing_of_tickets_that_came_with_another_label(
    came_with: tuple[str, ...], listed: tuple[str, ...], is_asked: bool
) -> None:
    before = {"7": known(ticket("7"), labels=came_with)}
    assert unlisted([], before, over=(), labels=listed) == (("7",) if is_asked else ())


@pytest.mark.parametrize("is_listed", [True, False])
def test_one_whose_author_is_not_known_now_is_neither_taken_in_nor_cancelled(is_listed: bool) -> None:
    """The tracker did not say: that is no word against the work that has begun."""
    unsure = ticket("1", is_trusted=None, author="ann", text="", criteria=())
    stranger = ticket("2", is_trusted=None, author="ann")
    before = [known(ticket("1"))]
    listed = [unsure, stranger] if is_listed else [stranger]
    found = plan_intake(
        see(*listed, before=before, begun=["hello-1"], gone={} if is_listed else {"1": unsure})
    )
    assert (found.new, found.changed, found.edited, found.gone) == ((), (), (), ())
    assert reasons(found) == {"2": "it is not known whether ann may write there"}


@pytest.mark.parametrize(
    ("status", "settled", "labels", "told"),
    [
        (TaskStatus.DONE, "done", ("ralph",), "its task hello-1 is done: `ralph task followup hello-1`"),
        (CANCELLED, "cancelled", ("ralph",), "its task was cancelled: `ralph task retry hello-1`"),
        (TaskStatus.DONE, "done", ("ralph", DONE), ""),
        (TaskStatus.DONE, "accepted", ("ralph",), ""),
        (OPEN, "done", ("ralph",), ""),
    ],
)
def test_one_that_was_done_and_is_wanted_again_is_said_to_be(
    status: TaskStatus, settled: str, labels: tuple[str, ...], told: str
) -> None:
    one = ticket("1", labels=labels)
    found = plan_intake(see(one, before=[known(one, settled=settled)], statuses={"hello-1": status}))
    assert list(reasons(found)) == (["1"] if told else [])
    assert reasons(found).get("1", "").startswith(told)
    assert (found.new, found.changed) == ((), ())


def test_one_whose_author_may_not_write_there_any_more_goes() -> None:
    lost = ticket("1", is_trusted=False, author="ann")
    (gone,) = plan_intake(see(lost, before=[known(ticket("1"))])).gone
    assert "it was written by ann, who may not write there" in gone.reason
    assert not gone.is_settled, "others that wait for it still do"


# --- whatever there is ---

KEYS = [str(number) for number in range(6)]
NAMES = st.sampled_from([f"hello-{key}" for key in KEYS] + ["HELLO-1", "other"])
TICKETS = st.builds(
    ticket,
    st.sampled_from(KEYS),
    task_id=NAMES,
    title=st.sampled_from(["Do it", "Do it well", ""]),
    blockers=st.lists(st.sampled_from([*KEYS, "x", "y"]), max_size=3).map(tuple),
    criteria=st.sampled_from([("it is done",), ()]),
    labels=st.sampled_from(
        [("ralph",), ("ralph",), ("Ralph", "ralph:me-1"), ("ralph", "ralph:b"), ("ralph", DONE), ()]
    ),
    is_open=st.sampled_from([True, True, True, False]),
    is_trusted=st.sampled_from([True, True, True, False, None]),
)


@st.composite
def sights(draw: st.DrawFn) -> Sight:
    """Any list of tickets, with any memory of earlier looks, as an engine would put it together."""
    drawn: dict[str, Ticket] = {one.key: one for one in draw(st.lists(TICKETS, max_size=6))}
    before: dict[str, KnownTicket] = {}
    statuses = {"other": OPEN}
    for key in draw(st.sets(st.sampled_from(KEYS), max_size=4)):
        is_seen = key in drawn and draw(st.booleans())
        before[key] = known(drawn[key] if is_seen else ticket(key), key=key, task_id=f"known-{key}")
        statuses[f"known-{key}"] = draw(st.sampled_from(TaskStatus))
    begun = {
        one.task_id for one in before.values() if statuses[one.task_id] is not OPEN or draw(st.booleans())
    }
    over = [name for name, status in statuses.items() if status is not OPEN]
    cancelled = [name for name, status in statuses.items() if status is CANCELLED]
    tickets = list(drawn.values())
    now = st.sampled_from([None, ticket("z"), ticket("z", is_open=False), ticket("z", labels=())])
    return Sight(
        source=SOURCE,
        labels=("ralph",),
        holder="me-1",
        is_shared=draw(st.sampled_from([True, True, False])),
        tickets=tickets,
        known=before,
        statuses=statuses,
        begun=frozenset(begun),
        blockers={key: draw(now) for key in named_blockers(tickets, before, cancelled)},
        gone={key: draw(now) for key in unlisted(tickets, before, over, ("ralph",))},
    )


def apply(sight: Sight, found: Intake) -> Sight:
    """As the record is afterwards."""
    remembered = dict(sight.known)
    statuses = dict(sight.statuses)
    for one in (*found.new, *found.changed):
        remembered[one.ticket.key] = one.known
        statuses.setdefault(one.task.id.lower(), OPEN)
    for one in found.edited:
        remembered[one.ticket.key] = replace(sight.known[one.ticket.key], noted=one.known.seen)
    for one in found.restored:
        remembered[one.ticket.key] = one.known
        statuses[one.known.task_id.lower()] = OPEN
    for held in found.held:
        assert held.known is not None
        remembered[held.ticket.key] = held.known
    for gone in found.gone:
        remembered[gone.known.key] = replace(remembered[gone.known.key], is_withdrawn=True)
        if statuses[gone.known.task_id.lower()] in (OPEN, TaskStatus.ACCEPTED):
            statuses[gone.known.task_id.lower()] = CANCELLED
    return replace(sight, known=remembered, statuses=statuses)


@given(sights())
def test_whatever_is_needed_is_there(sight: Sight) -> None:
    """Or nothing at all could be added: it is all or nothing."""
    found = plan_intake(sight)
    arrivals = (*found.new, *found.changed, *found.edited)
    there = {one.task.id for one in found.new} | {one.task_id for one in sight.known.values()}
    for one in arrivals:
        assert set(one.task.dependencies) <= there
        assert one.task.id.lower() not in map(str.lower, one.task.dependencies)
        assert one.task.acceptance_criteria
        assert one.known.source == SOURCE
        assert (one.known.key, one.known.task_id) == (one.ticket.key, one.task.id)
    names = [name.lower() for name in ids(found.new)]
    assert len(names) == len(set(names))
    assert not set(names) & set(sight.statuses)


@given(sights())
def test_the_new_ones_can_be_worked_on_in_some_order(sight: Sight) -> None:
    left = {one.task.id: set(one.task.dependencies) for one in plan_intake(sight).new}
    while left:
        ready = [name for name, needs in left.items() if not needs & left.keys()]
        assert ready
        for name in ready:
            del left[name]


@given(sights())
def test_every_ticket_has_one_fate(sight: Sight) -> None:
    found = plan_intake(sight)
    arrivals = (*found.new, *found.changed, *found.edited)
    fates = [one.ticket.key for one in arrivals] + [one.ticket.key for one in found.unready]
    assert len(fates) == len(set(fates))
    assert not {one.ticket.key for one in found.new} & set(sight.known)
    assert not {one.ticket.key for one in found.unready} & set(sight.known)
    assert len(fates) + found.unchanged <= len(sight.tickets)
    if sight.is_shared:
        for one in (*found.new, *found.changed, *found.edited):
            assert one.ticket.is_open
            assert one.ticket.is_trusted


@given(sights())
def test_nothing_goes_that_was_not_read(sight: Sight) -> None:
    for gone in plan_intake(sight).gone:
        assert gone.known.key in {one.key for one in sight.tickets} | sight.gone.keys()
        assert gone.known == sight.known[gone.known.key]
    assert not plan_intake(replace(sight, tickets=(), gone={})).gone


@given(sights())
def test_a_second_look_finds_nothing_more_to_do(sight: Sight) -> None:
    found = plan_intake(sight)
    again = plan_intake(apply(sight, found))
    assert again.is_empty
    assert reasons(again) == reasons(found)


def test_the_parts_are_values() -> None:
    one = ticket("1")
    assert Unready(one, "why") == Unready(one, "why", is_askable=False)
    assert Gone(known(one), "why") == Gone(known(one), "why", is_settled=False)
