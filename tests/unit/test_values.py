"""Our dataclasses do what the standard ones do: each case is tried on both."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import sys
import threading
from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as some

from ralph import values


def make(kit: Any) -> dict[str, Any]:
    """The same classes, by the decorator of ``kit``."""

    @kit.dataclass(frozen=True, slots=True)
    class Point:
        x: int
        y: int = 2
        tags: list[str] = kit.field(default_factory=list, compare=False, repr=False)
        limit: ClassVar[int] = 3

    @kit.dataclass(frozen=True, slots=True, kw_only=True)
    class Named(Point):
        """Has its own docstring."""

        name: str
        note: str = kit.field(default="", hash=False)

    @kit.dataclass(slots=True)
    class Counter:
        start: int = 0
        end: int = kit.field(default=5, kw_only=True)
        seen: list[int] = kit.field(init=False, default_factory=list)
        doubled: int = kit.field(init=False)

        def __post_init__(self) -> None:
            self.doubled = 2 * self.start

    @kit.dataclass(eq=False, slots=True)
    class Thing:
        x: int

    @kit.dataclass(frozen=True)
    class Loose:
        x: int
        y: int = 1

    @kit.dataclass(frozen=True, slots=True, repr=False)
    class Silent:
        secret: str

        def __repr__(self) -> str:
            return "Silent"

    found = (Point, Named, Counter, Thing, Loose, Silent)
    return {each.__name__: each for each in found}


OURS, STANDARD = make(values), make(dataclasses)


def told(act: Callable[[dict[str, Any]], object], classes: dict[str, Any]) -> object:
    try:
        return act(classes)
    except Exception as error:
        return type(error), str(error).replace(make.__qualname__, "")


@pytest.mark.parametrize("times", [1, 20], ids=["first", "compiled"])
@pytest.mark.parametrize(
    "act",
    [
        lambda of: repr(of["Point"](1)),
        lambda of: repr(of["Point"](1, 3, ["a"])),
        lambda of: of["Point"](1).tags,
        lambda of: of["Point"](1, tags=["a"]).tags,
        lambda of: of["Point"](),
        lambda of: of["Point"](1, 2, [], 4),
        lambda of: of["Point"](1, x=1),
        lambda of: of["Point"](1, z=1),
        lambda of: of["Point"](1, limit=4),
        lambda of: repr(of["Named"](1, name="a", note="b")),
        lambda of: of["Named"](1, 2, [], "a"),
        lambda of: of["Named"](1),
        lambda of: repr(of["Counter"](4)),
        lambda of: repr(of["Counter"](4, end=6)),
        lambda of: of["Counter"](4, 6),
        lambda of: of["Counter"](seen=[1]),
        lambda of: of["Counter"](3) == of["Counter"](3),
        lambda of: hash(of["Counter"](3)),
        lambda of: repr(of["Loose"](1)),
        lambda of: repr(of["Silent"]("x")),
    ],
)
def test_it_is_made_and_refused_alike(act: Callable[[dict[str, Any]], object], times: int) -> None:
    for _ in range(times):
        assert told(act, OURS) == told(act, STANDARD)


def _assign(of: dict[str, Any]) -> None:
    of["Point"](1).x = 2


def _delete(of: dict[str, Any]) -> None:
    del of["Point"](1).x


def _change(of: dict[str, Any]) -> str:
    counter = of["Counter"](1)
    counter.start = 7
    return repr(counter)


def _match(of: dict[str, Any]) -> object:
    point = of["Point"]
    match point(1, 5):
        case point(x, y):
            return x, y
        case _:
            return None


@pytest.mark.parametrize(
    "act",
    [
        _assign,
        _delete,
        _change,
        _match,
        lambda of: of["Point"](1) == of["Point"](1, 2, ["not compared"]),
        lambda of: of["Point"](1) == of["Named"](1, name=""),
        lambda of: of["Point"](1) == (1, 2),
        lambda of: len({of["Point"](1), of["Point"](1), of["Point"](2)}),
        lambda of: hash(of["Named"](1, name="a")) == hash(of["Named"](1, name="a", note="b")),
        lambda of: of["Thing"](1) == of["Thing"](1),
        lambda of: isinstance(hash(of["Thing"](1)), int),
        lambda of: [each.name for each in dataclasses.fields(of["Named"])],
        lambda of: [(each.name, each.init) for each in values.fields(of["Counter"])],
        lambda of: dataclasses.asdict(of["Named"](1, name="a")),
        lambda of: dataclasses.is_dataclass(of["Point"]),
        lambda of: repr(dataclasses.replace(of["Point"](1), y=9)),
        lambda of: repr(values.replace(of["Point"](1, tags=["a"]), y=9)),
        lambda of: values.replace(of["Point"](1), z=9),
        lambda of: msgspec.json.encode(of["Named"](1, name="a")),
        lambda of: repr(copy.copy(of["Named"](1, name="a"))),
        lambda of: repr(copy.deepcopy(of["Named"](1, name="a"))),
        lambda of: (of["Named"].__match_args__, of["Named"].__doc__, of["Named"].__qualname__),
        lambda of: hasattr(of["Point"](1), "__dict__"),
        lambda of: vars(of["Loose"](1)),
        lambda of: of["Point"].limit,
        lambda of: str(inspect.signature(of["Named"])),
        lambda of: str(inspect.signature(of["Counter"])),
    ],
)
def test_it_behaves_alike(act: Callable[[dict[str, Any]], object]) -> None:
    assert told(act, OURS) == told(act, STANDARD)


@values.dataclass(frozen=True, slots=True)
class Sent:
    name: str
    size: int = 0


def test_it_can_be_pickled_and_read_back_typed() -> None:
    sent = Sent("a", 3)

    assert pickle.loads(pickle.dumps(sent)) == sent
    assert msgspec.json.decode(b'{"name": "a", "size": 3}', type=Sent) == sent
    assert msgspec.json.decode(b'{"name": "a"}', type=Sent) == Sent("a")


def test_users_may_derive_a_standard_dataclass_from_it() -> None:
    @dataclasses.dataclass(frozen=True)
    class Larger(Sent):
        more: str = "m"

    larger = Larger("a", more="b")

    assert dataclasses.asdict(larger) == {"name": "a", "size": 0, "more": "b"}
    assert values.replace(larger, more="c") == Larger("a", more="c")
    assert [each.name for each in values.fields(larger)] == ["name", "size", "more"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        larger.name = "b"  # type: ignore[misc]


@given(some.lists(some.tuples(some.text(), some.integers()), min_size=1, max_size=30))
def test_values_of_the_same_content_are_equal_whichever_way_they_were_made(
    pairs: list[tuple[str, int]],
) -> None:
    for name, size in pairs:
        ways = [Sent(name, size), Sent(name, size=size), Sent(size=size, name=name)]
        assert len({*ways}) == 1
        assert repr(ways[0]) == repr(ways[2])


def test_a_value_that_holds_itself_can_be_shown() -> None:
    counter = OURS["Counter"](1)
    counter.seen.append(counter)

    assert "..." in repr(counter)


def test_a_class_with_an_init_of_its_own_says_what_that_takes() -> None:
    class Own(Sent):
        def __init__(self, other: int) -> None:
            super().__init__(str(other))

    assert str(inspect.signature(Own)) == "(other: 'int') -> 'None'"


@pytest.mark.skipif(sys.version_info < (3, 13), reason="came with Python 3.13")
def test_the_copy_module_can_replace_a_field() -> None:
    assert copy.replace(Sent("a", 3), size=4) == Sent("a", 4)  # type: ignore[attr-defined,unused-ignore]


def test_threads_that_make_the_first_instances_get_whole_ones() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            body = {"__annotations__": {f"f{number}": "int" for number in range(30)}, "__module__": __name__}
            made: Any = values.dataclass(frozen=True, slots=True, kw_only=True)(type("Wide", (), body))
            failures: list[Exception] = []
            together = threading.Barrier(4)

            def make_one(
                kind: Any = made, wait: Any = together.wait, complain: Any = failures.append
            ) -> None:
                wait()
                try:
                    assert len(values.fields(kind)) == 30
                    assert kind(**{f"f{number}": number for number in range(30)}).f29 == 29
                except Exception as error:
                    complain(error)

            threads = [threading.Thread(target=make_one) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(timeout=20)
            assert failures == []
    finally:
        sys.setswitchinterval(before)


def test_the_same_object_is_equal_to_itself_inside_a_value_on_every_python() -> None:
    """Standard dataclasses say so up to Python 3.12, and no longer in 3.13."""
    odd: Any = float("nan")

    assert Sent(odd) == Sent(odd)
    assert OURS["Silent"](odd) == OURS["Silent"](odd)
