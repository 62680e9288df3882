"""Markdown lists as tasks: what they are called, what they wait for, what is wrong with them, and how a box is ticked."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from pathlib import Path
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tasks.entry import id_problem
from ralph.domain.tickets.checklist import (
    LARGEST_BYTES,
    MOST_ITEMS,
    Checklist,
    NotThere,
    read_checklist,
    tick,
)
from ralph.domain.tickets.checklist_key import split_id, task_id_of

SPECS = Path(__file__).parents[3] / "data" / "specs"
SPEC_KIT = (SPECS / "speckit" / "specs" / "001-photo-albums" / "tasks.md").read_bytes()
OPENSPEC = (SPECS / "openspec" / "openspec" / "changes" / "add-export" / "tasks.md").read_bytes()


def read(text: str) -> Checklist:
    return read_checklist(dedent(text).encode())


def needs(checklist: Checklist) -> dict[str, tuple[str, ...]]:
    assert checklist.problems == ()
    return {item.key: item.blockers for item in checklist.items if not item.is_ticked}


def problems(text: str) -> list[str]:
    return [str(one) for one in read(text).problems]


# --- files that the tools make ---


def test_a_list_of_spec_kit() -> None:
    found = read_checklist(SPEC_KIT)

    assert needs(found) == {
        "T002": (),
        "T003": ("T002",),
        "T004": ("T003",),
        "T005": ("T004",),
        "T006": ("T004",),
        "T007": ("T005", "T006"),
        "T008": ("T007",),
        "T009": ("T007",),
        "T010": ("T007",),
        "T011": ("T007",),
        "T012": ("T008", "T009", "T010", "T011"),
        "T013": ("T012",),
        "T014": ("T013",),
        "T015": ("T014",),
        "T016": ("T015",),
        "T017": ("T016",),
        "T018": ("T017",),
        "T019": ("T017",),
        "T020": ("T018", "T019"),
    }
    by_key = {item.key: item for item in found.items}
    album = by_key["T013"]
    assert album.title == "Implement GET /albums in src/web/albums.py"
    assert album.criteria == (
        "an empty collection gives an empty page, not an error",
        "albums are sorted by day, the newest first",
    )
    assert album.has_own_check
    assert album.group == "Phase 3: User Story 1 - Albums by date (Priority: P1) 🎯 MVP"
    assert album.notes == (
        "Goal: Photos appear in albums, one for each day",
        "Independent Test: Upload three photos of two days, and see two albums on the first page",
        "Checkpoint: User Story 1 is fully functional and can be tested by itself",
    )
    assert (album.priority, by_key["T015"].priority, by_key["T002"].priority) == (3, 5, 5)
    assert by_key["T001"].is_ticked
    assert by_key["T010"].criteria == ("Create Photo model in src/models/photo.py",)
    assert not by_key["T010"].has_own_check
    assert SPEC_KIT.decode().splitlines()[album.line - 1].startswith("- [ ] T013 ")


def test_a_list_of_openspec() -> None:
    found = read_checklist(OPENSPEC)

    assert needs(found) == {
        "1.2": (),
        "2.1": ("1.2",),
        "2.2": ("2.1",),
        "2.3": ("2.2",),
        "3.1": ("2.3",),
        "3.2": ("3.1",),
    }
    assert [item.key for item in found.items if item.has_own_check] == ["1.1", "2.1", "2.2", "3.1"]
    assert {item.group for item in found.items} == {"1. Setup", "2. Export", "3. Documentation"}


def test_templates_that_nobody_filled_in_are_no_tasks() -> None:
    assert problems("## 1. <!-- Group -->\n\n- [ ] 1.1 <!-- Task description -->\n") == [
        "line 3: 1.1 says nothing; write what is to be done, or remove it"
    ]
    assert problems("- [ ] TXXX [P] Documentation\n- [ ] TXXX Cleanup\n") == [
        "line 2: TXXX appears twice: in line 1 and in line 2; give each task an id or words of its own"
    ]


# --- plain lists ---


def test_a_plain_list() -> None:
    found = read(
        """
        # To do

        - [ ] Fix the login
          which fails on Mondays
          - [x] a wrong password gives 401
            after one second
          - Notes about it
        - [x] Set up CI
        - a point that is no task
          - [ ] Box below a point

        ## Later
        1. [ ] Write the `docs`.

           They are missing.

           ```
           - [ ] no task
           ```
        * [ ] Retry after 3 attempts
          - gives up after the third
          - says why
        """
    )

    assert [(item.line, item.key, item.is_ticked, item.group) for item in found.items] == [
        (4, "fix-the-login-which-fails-on-mondays", False, "To do"),
        (9, "set-up-ci", True, "To do"),
        (11, "box-below-a-point", False, "To do"),
        (14, "write-the-docs", False, "Later"),
        (21, "retry-after-3-attempts", False, "Later"),
    ]
    login, _, _, docs, retry = found.items
    assert login.criteria == ("a wrong password gives 401 after one second",)
    assert "Notes about it" in login.text
    assert docs.criteria == ("Write the `docs`.",)
    assert "They are missing." in docs.text
    assert not docs.has_own_check
    assert retry.criteria == ("gives up after the third", "says why")
    assert retry.has_own_check
    assert set(needs(found).values()) == {()}


@pytest.mark.parametrize(
    ("words", "key", "title", "tags"),
    [
        ("T001 Do it", "T001", "Do it", ()),
        ("T012 [P] [US1] Do it in [place]", "T012", "Do it in [place]", ("P", "US1")),
        ("**T001** Do it", "T001", "Do it", ()),
        ("T001: Do it", "T001", "Do it", ()),
        ("1.1 Do it", "1.1", "Do it", ()),
        ("1.2.3. Do it", "1.2.3", "Do it", ()),
        ("3. Do it", "", "Do it", ()),
        ("3) Do it", "", "Do it", ()),
        ("(3) Do it", "", "Do it", ()),
        ("**3.** Do it", "", "Do it", ()),
        ("**3. Do** it", "", "**Do** it", ()),
        ("404: say so", "", "404: say so", ()),
        ("3.5 Do it", "3.5", "Do it", ()),
        ("[ENG-4] Do it", "ENG-4", "Do it", ()),
        ("ENG-4: Do it", "ENG-4", "Do it", ()),
        ("TASK-12 - Do it", "TASK-12", "Do it", ()),
        ("UTF-8 in names", "", "UTF-8 in names", ()),
        ("S3 upload", "", "S3 upload", ()),
        ("3 little things", "", "3 little things", ()),
        ("Do it", "", "Do it", ()),
        ("[link](x) Do it", "", "[link](x) Do it", ()),
        ("", "", "", ()),
    ],
)
def test_an_id_stands_alone_or_is_set_off(words: str, key: str, title: str, tags: tuple[str, ...]) -> None:
    found = split_id(words)

    assert (found.key, found.title, found.tags) == (key, title, tags)


def test_items_whose_words_make_the_same_key_are_told_apart() -> None:
    found = read("# A\n- [ ] Write tests\n- [ ] C\n- [ ] C++\n# B\n- [ ] Write tests\n")

    keys = [item.key for item in found.items]
    assert len(set(keys)) == 4
    assert all(key.startswith(("write-tests-", "c-")) for key in keys)


def test_a_key_never_comes_to_mean_another_item() -> None:
    """If it did, a box would be ticked that nobody has worked on."""
    whole = "# A\n- [ ] Write tests\n# B\n- [ ] Write tests\n"
    first, second = read(whole).items
    rest = "# A\n# B\n- [ ] Write tests\n"

    assert "[x]" in tick(rest, 0, second.key)
    with pytest.raises(NotThere, match="write-tests"):
        tick(rest, 0, first.key)
    alone = read(rest).items[0]
    with pytest.raises(NotThere, match="written twice"):
        tick(whole, 0, alone.key)


@given(st.text(), st.text(min_size=1))
def test_every_key_makes_a_task_id(stem: str, title: str) -> None:
    for item in read_checklist(f"- [ ] {title}".encode(errors="replace")).items:
        assert id_problem(task_id_of(stem, item.key)) is None


def test_long_keys_stay_apart_as_task_ids() -> None:
    stems = ["a" * 80 + tail for tail in "xy"]

    assert len({task_id_of(stem, "T001") for stem in stems}) == 2


def test_a_place_in_a_list_is_no_name_for_what_stands_there() -> None:
    """Renumbered, the box of another item was ticked, and its work was done twice."""
    before = "- [ ] 1. Add login\n- [ ] 2. Add logout\n"
    after = "- [ ] 1. Add a page\n- [ ] 2. Add login\n- [ ] 3. Add logout\n"

    assert [item.key for item in read(before).items] == ["add-login", "add-logout"]
    assert [(item.key, item.title) for item in read(after).items][1] == ("add-login", "Add login")
    assert tick(after, 1, "add-login") == after.replace("[ ] 2", "[x] 2")


# --- what waits for what ---


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("(depends on T001)", ("T001",)),
        ("(depends on T001, T002)", ("T001", "T002")),
        ("(depends on T001 and T002)", ("T001", "T002")),
        ("(depends on T001-T003)", ("T001", "T002", "T003")),
        ("(after T002)", ("T002",)),
        ("blocked by: **T001**", ("T001",)),
        ("(requires t001)", ("T001",)),
        ("after 1 attempt", ()),
        ("depends on nothing", ()),
        ("(depends on T004)", ()),  # which is ticked
        ("(after 1.5 seconds)", ()),
        ("and needs UTF-8, requires SHA-256", ()),
        ("after UTF-16-encoded input", ()),
        ("needs S3 and requires python3", ()),
        ("after 1.2, requires 3.11", ()),
        ("depends on third-party code", ()),
    ],
)
def test_items_say_what_they_wait_for(words: str, expected: tuple[str, ...]) -> None:
    """All may run in parallel, so nothing else is waited for."""
    text = f"- [ ] T001 [P] a\n- [ ] T002 [P] b\n- [ ] T003 [P] c\n- [x] T004 [P] d\n- [ ] T009 [P] Do it {words}\n"

    assert needs(read(text))["T009"] == expected


def test_in_a_plain_list_they_say_it_too() -> None:
    found = needs(read("- [ ] Set up CI\n- [ ] Ship it\n  depends on: set-up-ci\n- [ ] Rest\n"))

    assert found == {"set-up-ci": (), "ship-it-depends-on-set-up-ci": ("set-up-ci",), "rest": ()}


def test_code_and_quotations_say_nothing_about_it() -> None:
    text = "- [ ] A-1: a\n\n      # depends on ZZ-9\n\n  > after ZZ-9\n\n  ```\n  depends on ZZ-9\n  ```\n"

    assert needs(read(text)) == {"A-1": ()}


def test_whoever_waits_for_one_of_its_own_step_says_nothing_twice() -> None:
    found = needs(
        read(
            """
            - [ ] T001 first
            - [ ] T002 [P] a
            - [ ] T003 [P] b (depends on T002)
            - [ ] T004 [P] c (depends on T001)
            - [ ] T005 last
            """
        )
    )

    assert found == {
        "T001": (),
        "T002": ("T001",),
        "T003": ("T002",),
        "T004": ("T001",),
        "T005": ("T003", "T004"),
    }


def reached_from(start: str, needed: dict[str, tuple[str, ...]]) -> set[str]:
    found: set[str] = set()
    waiting = [*needed[start]]
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += needed[key]
    return found


PLAN = st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=5), min_size=1, max_size=5)


@given(PLAN)
def test_the_order_of_phases_is_kept_and_nothing_is_said_twice(plan: list[list[tuple[bool, bool]]]) -> None:
    rows: list[tuple[str, int, bool, bool]] = []
    lines: list[str] = []
    for phase, items in enumerate(plan):
        lines.append(f"## Phase {phase}")
        for is_parallel, is_ticked in items:
            key = f"T{len(rows):03}"
            rows.append((key, phase, is_parallel, is_ticked))
            lines.append(f"- [{'x' if is_ticked else ' '}] {key} {'[P] ' if is_parallel else ''}words")
    if not rows:
        return
    found = needs(read_checklist("\n".join(lines).encode()))

    open_rows = [row for row in rows if not row[3]]
    step = {row[0]: 0 for row in open_rows[:1]}
    for before, after in pairwise(open_rows):
        is_same = before[1] == after[1] and before[2] and after[2]
        step[after[0]] = step[before[0]] + (not is_same)
    for key, number in step.items():
        assert reached_from(key, found) == {other for other, earlier in step.items() if earlier < number}
        for direct in found[key]:  # without it, it would be waited for less
            others = set().union(*(reached_from(one, found) | {one} for one in found[key] if one != direct))
            assert direct not in others


# --- what is wrong ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("- [ ] a\n- [] b\n", "line 2: - [] is not a checkbox; write `- [ ] `"),
        ("-[ ] b\n", "line 1: -[ ] is not a checkbox; write `- [ ] `"),
        ("- [x]done\n", "line 1: - [x] is not a checkbox; write `- [ ] `"),
        ("- [ x ] b\n", "line 1: - [ x ] is not a checkbox; write `- [ ] `"),
        ("- [~] b\n", "line 1: - [~] is not a checkbox; write `- [ ] `"),
        ("- [ ] a\n  - [] b\n", "line 2: - [] is not a checkbox; write `- [ ] `"),
        ("- [ ]\n", "line 1: this checkbox says nothing; write what is to be done"),
        ("# Plan\n\nWords.\n", "there is no checkbox in it; write each task as `- [ ] what is to be done`"),
        ("", "there is no checkbox in it"),
        ("- [ ] T001 a\n\n- [ ] T001 b\n", "line 3: T001 appears twice: in line 1 and in line 3; give each"),
        ("- [ ] Do it\n- [x] do it\n", "line 2: “do it” appears twice: in line 1 and in line 2; give each"),
        (
            "- [ ] T001 a (depends on T007)\n",
            "line 1: T001 depends on T007, which is not in this file; correct the id",
        ),
        (
            "- [ ] 1.1 a\n- [ ] 1.2 b, blocked by 9.9\n",
            "line 2: 1.2 depends on 9.9, which is not in this file",
        ),
        (
            "- [ ] a\n- [ ] do it, depends on ZZ-9\n",
            "line 2: do-it-depends-on-zz-9 depends on ZZ-9, which is not in this file; correct the id",
        ),
        (
            "- [ ] A-1: a\n- [ ] A-2: b (after A-1, A-77)\n",
            "line 2: A-2 depends on A-77, which is not in this file",
        ),
        ("- [ ] a\n- [ ] A-2: b (after ZZ-9)\n", "line 2: A-2 depends on ZZ-9, which is not in this file"),
        ("- [ ] A-1: a\n  - needs T001\n", "line 1: A-1 depends on T001, which is not in this file"),
        ("- [ ] A-1: a (depends on 1.2)\n", "line 1: A-1 depends on 1.2, which is not in this file"),
        ("- [ ] 1.1 a\n- [ ] 1.2 b (after 1.1, 1.7)\n", "line 2: 1.2 depends on 1.7, which is not in this"),
        (
            "- [ ] 1. a\n- [ ] 2. b (depends on 1)\n",
            "line 2: b-depends-on-1 depends on 1, which is a place in a list and no id; give that task an id",
        ),
        (
            "1. [ ] a\n2. [ ] b, blocked by 1\n",
            "line 2: b-blocked-by-1 depends on 1, which is a place in a list and no id; give that task an id",
        ),
        (
            "<!--\n- [ ] hidden -->- [ ] visible\n",
            "line 2: the checkbox stands behind something that people do not see; begin the line with",
        ),
        ("- [ ] T001 a (depends on T001)\n", "line 1: T001 waits for itself; remove a dependency"),
        (
            "- [ ] T001 [P] a (after T002)\n- [ ] T002 [P] b (after T001)\n",
            "line 1: these tasks wait for each other: T001 → T002 → T001; remove a dependency",
        ),
        (
            "- [ ] T001 a (depends on T003)\n- [ ] T002 b\n- [ ] T003 c\n",
            "line 1: these tasks wait for each other: T001 → T003 → T002 → T001; remove a dependency, or move",
        ),
    ],
)
def test_problems_say_where_and_what_to_do(text: str, expected: str) -> None:
    found = read(text)

    assert [str(one)[: len(expected)] for one in found.problems] == [expected]
    assert found.items == ()


@pytest.mark.parametrize(
    "text",
    [
        "- [ ](https://example.org) a link\n",
        "- [1] a footnote\n",
        "```\n- []\n```\n",
        "> -[ ] quoted\n",
        "a[] = 1\n",
    ],
)
def test_what_only_looks_a_little_like_a_box_is_no_problem(text: str) -> None:
    assert problems(f"- [ ] a\n\n{text}") == []


def test_boxes_are_the_criteria_and_points_only_where_there_are_none() -> None:
    both, points = read("- [ ] A-1: a\n  - [ ] box\n  - point\n- [ ] A-2: b\n  - point\n").items

    assert (both.criteria, points.criteria) == (("box",), ("point",))


def test_lines_that_end_with_carriage_returns_are_lines() -> None:
    found = read_checklist(b"# A\r- [ ] T001 a\r  - [ ] box\r- [x] T002 b\r")

    assert [(item.key, item.line, item.criteria) for item in found.items] == [
        ("T001", 2, ("box",)),
        ("T002", 4, ("b",)),
    ]
    assert str(read_checklist(b"- [ ] a\r\xff").problems[0]).startswith("line 2: it is not UTF-8")


def test_a_file_that_is_no_text() -> None:
    assert [str(one) for one in read_checklist(b"- [ ] a\n- [ ] \xff\n").problems] == [
        "line 2: it is not UTF-8; save it as UTF-8"
    ]


def test_a_file_that_is_too_large() -> None:
    found = read_checklist(b"- [ ] a\n" * (LARGEST_BYTES // 8 + 1))

    assert "it is too large: 2,000,008 bytes" in str(found.problems[0])


def test_too_many_tasks_are_refused_and_too_many_problems_are_counted() -> None:
    many = "".join(f"- [ ] task {number}\n" for number in range(MOST_ITEMS + 1))
    wrong = "- [] a\n" * 100

    assert problems(many) == [
        "line 2001: it has 2,001 tasks, and ralph takes at most 2,000 of a file; split it"
    ]
    assert len(problems(wrong)) == 21
    assert problems(wrong)[-1] == "and 80 more of such problems"


def test_a_list_that_is_ticked_off_is_done() -> None:
    assert read("- [x] a\n- [X] b\n").is_done
    assert not read("- [x] a\n- [ ] b\n").is_done
    assert not read("- [x] a\n- [] b\n").is_done
    assert not read("words").is_done


HOSTILE = [
    "- [ ] T001 [P] (depends on T001-T999)\n", "- [ ] a\n", "- []\n", "- [ ] x\n  - [ ] y\n", "(depends on ", "T001, ", "- [ ] ", "\n", "#",
    "## a\n", "**Goal**: x\n", "**Goal**: x", "- [ ] T001 [P]", "[P] ", "a-",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.timeout(90)
def test_much_of_anything_takes_no_more_than_its_share(piece: str) -> None:
    begun = time.perf_counter()
    read_checklist(f"- [ ] {piece * (150_000 // len(piece))}".encode())

    assert time.perf_counter() - begun < 30


@pytest.mark.timeout(90)
def test_many_tasks_with_many_dependencies_take_seconds() -> None:
    """Two phases of a thousand tasks each that all wait for each of the other phase."""
    half = MOST_ITEMS // 2
    lines = [f"- [ ] T{number:04} [P] a (depends on T0000-T{number - 1:04})" for number in range(1, half)]
    text = "\n".join(
        ("- [ ] T0000 [P] a", *lines, "## B", *(f"- [ ] T{half + number} [P] b" for number in range(half)))
    )
    begun = time.perf_counter()
    found = read_checklist(text.encode())

    assert len(found.items) == MOST_ITEMS
    assert time.perf_counter() - begun < 30


MARKS = st.sampled_from(
    ["- [ ] ", "- [x] ", "- ", "1. [ ] ", "  - [ ] ", "T001 ", "1.1 ", "[P] ", "(after T001)", "depends on ", "\n", "\r\n", "\t", "> ", "```", "<!--",
     "-->", "## A", "**Goal**: ", "word", "\ufeff", "\x1b[0m", "\r", "é"]
)  # fmt: skip
TEXTS = st.lists(MARKS | st.text(max_size=4), max_size=50).map("".join)


@given(TEXTS)
def test_any_text_can_be_read(text: str) -> None:
    found = read_checklist(text.encode(errors="replace"))

    assert bool(found.items) != bool(found.problems)
    keys = [item.key.lower() for item in found.items]
    assert len(set(keys)) == len(keys)
    for item in found.items:
        assert item.title
        assert item.criteria
        assert set(item.blockers) <= {one.key for one in found.items if not one.is_ticked}
        assert "\x1b" not in item.text + item.title


# --- ticking ---


@given(TEXTS)
def test_a_tick_changes_one_character_of_one_line(text: str) -> None:
    data = text.encode(errors="replace")
    text = data.decode()
    for item in read_checklist(data).items:
        ticked = tick(text, item.line, item.key)
        if item.is_ticked:
            assert ticked == text
            continue
        assert len(ticked) == len(text)
        assert [(a, b) for a, b in zip(text, ticked, strict=True) if a != b] == [(" ", "x")]
        assert ticked == tick(text, 0, item.key)
        lines = tuple(re.split("\r\n|\n|\r", one) for one in (text, ticked))
        assert [number for number, (a, b) in enumerate(zip(*lines, strict=True), 1) if a != b] == [item.line]
        again = read_checklist(ticked.encode())
        assert next(one for one in again.items if one.line == item.line).is_ticked


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("- [ ] T001 a", "- [x] T001 a"),
        ("# A\r\n\r\n- [ ] T001 a\r\n- [ ] T002 b\r\n", "# A\r\n\r\n- [x] T001 a\r\n- [ ] T002 b\r\n"),
        ("# A\r\r- [ ] T002 é\r- [ ] T001 a\r", "# A\r\r- [ ] T002 é\r- [x] T001 a\r"),
        ("\ufeff# A\r- [ ] T002 b\n- [ ] T001 a", "\ufeff# A\r- [ ] T002 b\n- [x] T001 a"),
        ("\ufeff- [ ] T001 a\n", "\ufeff- [x] T001 a\n"),
        ("1.\t[ ]\tT001 a\n", "1.\t[x]\tT001 a\n"),
        ("* [ ] **T001** [ ] a  \n\n\n", "* [x] **T001** [ ] a  \n\n\n"),
        ("- [X] T001 a", "- [X] T001 a"),
        ("```\n- [ ] T001 a\n```\n- [ ] T001 a", "```\n- [ ] T001 a\n```\n- [x] T001 a"),
        ("<!-- - [ ] T001 a -->\n- [ ] T001 a", "<!-- - [ ] T001 a -->\n- [x] T001 a"),
        ("- [ ] T000 x\n  - [ ] T001 y\n- [ ] T001 z", "- [ ] T000 x\n  - [ ] T001 y\n- [x] T001 z"),
    ],
)
def test_ticking_keeps_everything_else(before: str, after: str) -> None:
    assert tick(before, 1, "T001") == after


def test_an_item_that_moved_is_found_by_its_key() -> None:
    text = "- [ ] T009 new\n- [ ] T001 a\n"

    assert tick(text, 1, "T001") == "- [ ] T009 new\n- [x] T001 a\n"


def test_of_two_with_the_same_id_the_line_decides_or_nobody() -> None:
    text = "- [ ] T001 a\n- [ ] T001 b\n"

    assert tick(text, 2, "T001") == "- [ ] T001 a\n- [x] T001 b\n"
    with pytest.raises(NotThere):
        tick(text, 7, "T001")


@pytest.mark.parametrize("text", ["", "- [ ] T002 b\n", "```\n- [ ] T001 a\n```\n", "- T001 a\n"])
def test_what_is_not_there_any_more_is_said(text: str) -> None:
    with pytest.raises(NotThere, match="T001 is not there any more"):
        tick(text, 1, "T001")


def test_what_people_do_not_see_of_an_item_is_left_out_and_told() -> None:
    (item,) = read(
        "## Pha\u200bse <!-- x -->\n\n**Goal**: sh\u200bip\n\n- [ ] T001 Do <!-- SECRET --> i\u200bt\n"
        '  [a](b "SECRET")\n\n  [//]: # (SECRET)\n\n  <div hidden>SECRET</div> more\n'
    ).items

    assert (item.title, item.group, item.notes) == ("Do it [a](b)", "Phase", ("Goal: ship",))
    assert "SECRET" not in repr(item)
    assert item.left_out == (
        "1 HTML comment, which people do not see",
        "1 link title, which people do not see",
        "1 unused link definition, which people do not see",
        "1 hidden HTML element, which people do not see",
        "1 invisible character",
    )


def test_the_boxes_of_its_criteria_are_ticked_with_it() -> None:
    """They are what was accepted; and other tools count them as tasks of their own."""
    text = "- [ ] 1.1 Build it\n  - [ ] it is red\n  - [x] it is round\n- [ ] 1.2 Sell it\n  - [ ] sold\n"

    assert tick(text, 1, "1.1") == (
        "- [x] 1.1 Build it\n  - [x] it is red\n  - [x] it is round\n- [ ] 1.2 Sell it\n  - [ ] sold\n"
    )
