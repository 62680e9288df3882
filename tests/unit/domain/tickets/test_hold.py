"""No ticket is worked on twice, whatever the order in which machines put up their names and look."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tickets.hold import (
    DONE,
    LONGEST,
    PREFIX,
    holder_name,
    holders,
    is_held_by,
    label_of,
    others,
)

LONGEST_LABEL = 50


# --- names ---


@pytest.mark.parametrize(
    ("host", "name"),
    [
        ("build.example.com", "build-a1"),
        ("Ann's MacBook Pro", "ann-s-macbook-pro-a1"),
        ("", "machine-a1"),
        ("...", "machine-a1"),
        ("büro", "b-ro-a1"),
        ("done", "done-a1"),
    ],
)
def test_a_machine_is_called_after_its_host(host: str, name: str) -> None:
    assert holder_name(host, "a1") == name


@given(st.text(max_size=300), st.text("0123456789abcdef", min_size=4, max_size=4))
def test_any_host_makes_a_label_that_trackers_take(host: str, chance: str) -> None:
    name = holder_name(host, chance)
    assert len(name) <= LONGEST
    assert len(label_of(name)) <= LONGEST_LABEL
    assert label_of(name) != DONE
    assert "," not in name, "GitHub separates labels by it"
    assert "--" not in name
    assert holders([label_of(name)]) == (name,)


def test_only_labels_with_a_name_behind_the_mark_are_names() -> None:
    labels = ("bug", "ralph", PREFIX, DONE, "ralph:a", "Ralph:B", "xralph:c", "ralph:a")
    assert holders(labels) == ("a", "B")
    assert others(labels, "b") == ("a",)


@given(st.lists(st.text("aAbB:", max_size=5)), st.text("ab", min_size=1, max_size=3))
def test_oneself_is_no_other_and_all_others_are_seen(names: list[str], me: str) -> None:
    labels = [label_of(name) for name in names]
    seen = {name.casefold() for name in others(labels, me)}
    assert seen == {name.casefold() for name in names if name} - {me.casefold(), "done"}


@given(st.lists(st.text("aAbB:", max_size=5)), st.text("ab", min_size=1, max_size=3))
def test_whose_name_is_there_holds_it(names: list[str], me: str) -> None:
    labels = [label_of(name) for name in names]
    assert is_held_by(me, labels) == (me.casefold() in {name.casefold() for name in names})


@pytest.mark.parametrize(
    "labels", [(), ("box-a1",), ("ralph",), (DONE,), ("ralph:box-a12",), ("xralph:box-a1",)]
)
def test_nothing_but_its_own_name_makes_a_machine_the_holder(labels: tuple[str, ...]) -> None:
    assert not is_held_by("box-a1", labels)


# --- several machines at once ---

Order = tuple[int, ...]


def orders(left: Sequence[int]) -> Iterator[Order]:
    """All ways in which machines with so many steps each can take turns."""
    if not any(left):
        yield ()
        return
    for machine, steps in enumerate(left):
        if steps:
            rest = [count - (other == machine) for other, count in enumerate(left)]
            yield from ((machine, *more) for more in orders(rest))


def play(order: Order, names: Sequence[str], held: Sequence[str] = ()) -> tuple[list[str], list[str]]:
    """Each looks, puts up its name, looks again, and stands back if it is not alone. Gives who won, and the labels left."""
    labels = [label_of(name) for name in held]
    steps = dict.fromkeys(names, 0)
    winners: list[str] = []
    for turn in order:
        name = names[turn]
        match steps[name]:
            case 0:
                is_free = not others(labels, name)
            case 1:
                is_free = True
                labels.append(label_of(name))
            case 2:
                is_free = not others(labels, name)
                if is_free:
                    winners.append(name)
                    steps[name] = 9
            case 3:
                is_free = True
                labels.remove(label_of(name))
                steps[name] = 9
            case _:
                continue
        # Whoever looked before and saw somebody does nothing; whoever did afterwards stands back.
        steps[name] = 9 if steps[name] == 0 and not is_free else steps[name] + 1
    return winners, labels


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c")])
def test_in_no_order_are_there_two_winners(names: tuple[str, ...]) -> None:
    tried = 0
    for order in orders([4] * len(names)):
        winners, labels = play(order, names)
        assert len(winners) <= 1, order
        assert labels == [label_of(name) for name in winners], order
        tried += 1
    assert tried == {2: 70, 3: 34_650}[len(names)]


def test_whoever_comes_alone_wins() -> None:
    assert play((0, 0, 0, 1, 1, 1, 1), ("a", "b")) == (["a"], ["ralph:a"])


@pytest.mark.parametrize("holder", ["a", "A"])
def test_whoever_was_killed_after_it_won_wins_again_and_nobody_else_does(holder: str) -> None:
    for order in orders([4, 4]):
        winners, _ = play(order, ("a", "b"), held=[holder])
        assert set(winners) <= {"a"}, order
