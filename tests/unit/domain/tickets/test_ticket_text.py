"""What the words of a ticket say: criteria, blockers, an estimate; and what nobody sees says nothing."""

from __future__ import annotations

import time
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.domain.tickets.ticket_text import (
    LONGEST_CRITERION,
    LONGEST_TEXT,
    MOST_BLOCKERS,
    MOST_CRITERIA,
    read_text,
    visible_text,
)


def criteria(text: str) -> list[str]:
    return list(read_text(dedent(text)).criteria)


def blockers(text: str) -> list[str]:
    return list(read_text(dedent(text)).blockers)


# --- criteria ---


@pytest.mark.parametrize(
    "item", ["- [ ] it works", "* [x] it works", "+ [X] it works", "1. [ ] it works", "2) [ ] it works"]
)
def test_a_checkbox_is_a_criterion_wherever_it_is(item: str) -> None:
    assert criteria(f"Words.\n\n{item}\n") == ["it works"]
    assert criteria(f"- a point\n  {item}\n    {item} twice\n") == ["it works", "it works twice"]


def test_an_item_goes_on_in_the_next_lines() -> None:
    found = criteria(
        """
        - [ ] the answer is sent
          within a second
        even if indented badly
        - [ ] next

          another paragraph is no criterion
        """
    )

    assert found == ["the answer is sent within a second even if indented badly", "next"]


@pytest.mark.parametrize(
    "heading",
    [
        "# Acceptance",
        "## Acceptance criteria",
        "### ACCEPTANCE CRITERIA:",
        "## ✅ Acceptance Criteria (must)",
        "## 3. Acceptance criteria",
        "#### Done when",
        "## Definition of Done ##",
        "Acceptance criteria\n---",
        "Done when\n===",
        "**Acceptance criteria**",
        "**Acceptance criteria:**",
        "__Done when__:",
        "Acceptance criteria:",
        "Some words.\nDone when:",
    ],
)
def test_the_list_below_such_a_heading_is_criteria(heading: str) -> None:
    text = f"- before\n\nWords.\n\n{heading}\n\n- one\n- two\n  - inner\n\n# Notes\n- after\n"

    assert criteria(text) == ["one", "two", "inner"]


@pytest.mark.parametrize(
    "heading",
    [
        "## Acceptance of payments",
        "## Undone when",
        "Nobody accepts:",
        "## Notes",
        "**Donewhen**",
        "We are done when it works",
    ],
)
def test_other_headings_are_not(heading: str) -> None:
    assert criteria(f"{heading}\n\n- one\n") == []


def test_a_section_ends_at_a_heading_of_its_level_and_not_at_one_below() -> None:
    text = """
    ## Acceptance
    ### For users
    - one
    ### For machines
    - two
    # Notes
    - three
    """

    assert criteria(text) == ["one", "two"]


def test_a_bold_line_or_a_colon_ends_with_its_list() -> None:
    assert criteria("Done when:\n- one\n- two\n\nOther things:\n- three\n") == ["one", "two"]
    assert criteria("**Done when**\n- one\n\n**Notes**\n- two\n") == ["one"]


def test_without_a_list_each_line_counts() -> None:
    assert criteria(
        "## Done when\n\nThe tests pass.\nThe page loads.\n\n---\n\nIt is fast.\n\n## Notes\nNot this.\n"
    ) == [
        "The tests pass.",
        "The page loads.",
        "It is fast.",
    ]
    assert criteria("Done when:\nThe tests pass.\n\nNot this.\n") == ["The tests pass."]


def test_with_a_list_other_lines_do_not() -> None:
    assert criteria("## Done when\n\nAll of these:\n\n- one\n- two\n") == ["one", "two"]


@pytest.mark.parametrize(
    "line", ["Done when: it works", "**Acceptance criteria**: it works", "**Done when:** it works"]
)
def test_it_may_stand_in_the_same_line(line: str) -> None:
    assert criteria(f"Words.\n\n{line}\n\nMore words.\n") == ["it works"]


def test_a_point_may_be_the_heading() -> None:
    assert criteria("- Why: because\n- **Done when:**\n  - one\n  - two\n- Notes:\n  - three\n") == [
        "one",
        "two",
    ]


def test_each_is_said_once() -> None:
    assert criteria("- [ ] a\n- [x] a\n\n## Acceptance\n- a\n- b\n") == ["a", "b"]


# --- what states nothing ---


@pytest.mark.parametrize(
    "hidden",
    [
        "```\n{}\n```",
        "~~~ text\n{}\n```\n{}\n~~~",
        "````\n```\n{}\n````",
        "- a point\n  ```\n  {}\n  ```",
        "- ```\n  {}\n  ```",
        "    {}",
        "> {}",
        "> a quote\n> {}",
        "<!-- {} -->",
        "<!--\n{}\n\n{}\n-->",
        "<!--\n\n{}",  # never closed: GitHub shows nothing of it
        "words <!-- {} --> words",
        "- a point <!--\n{}\n-->",
    ],
)
@pytest.mark.parametrize("line", ["- [ ] hidden", "Blocked by #99"])
def test_code_quotes_and_comments_state_nothing(hidden: str, line: str) -> None:
    found = read_text(f"- [ ] first\n\nWords.\n\n{hidden.replace('{}', line)}\n")

    assert found.criteria == ("first",)
    assert found.blockers == ()


def test_a_paragraph_of_a_quote_needs_its_mark_only_once() -> None:
    assert blockers("> They said it is\nBlocked by #12\n\nBlocked by #13") == ["#13"]


def test_what_follows_code_counts_again() -> None:
    assert criteria("```\n- [ ] a\n```\n- [ ] b\n") == ["b"]
    assert criteria("- x\n  ```\n  - [ ] a\n- [ ] b\n") == ["b"]  # the list item ends, and its code with it


# --- what nobody sees ---


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a <!-- b --> c", "a  c"),
        ("a\n<!-- b -->\nc", "a\nc"),
        ("a\n<!-- b\n\nc -->\nd", "a\nd"),
        ("a\n\n<!-- b\n\nc", "a"),
        ("<!-- b --><!-- c -->d", "d"),
        ("<!--> a -->", " a -->"),  # a whole comment by itself
        ("a <!-- b\n\nc", "a <!-- b\n\nc"),  # nothing closes it in its paragraph
        ("```html\n<!-- b -->\n```", "```html\n<!-- b -->\n```"),
        ("```\n<!--\n```\na\n\n-->", "```\n<!--\n```\na\n\n-->"),
        ("- a\n  ```\n<!-- b -->", "- a\n  ```"),
        ("<div>\n```\n\n<!-- b -->", "<div>\n```"),
        ("<pre>\n\n```\n</pre>\n\n<!-- b -->", "<pre>\n\n```\n</pre>"),
        ("> ```\n\n<!-- b -->", "> ```"),
        ("``` a`b\n<!-- b -->", "``` a`b"),
    ],
)
def test_comments_are_left_out_of_the_text_unless_they_are_code(text: str, shown: str) -> None:
    assert read_text(text).text == shown.strip("\n").rstrip()


def test_it_is_said_what_was_left_out() -> None:
    assert read_text("a <!-- b --> <!-- c -->").left_out == ("2 HTML comments, which people do not see",)
    assert read_text("a<!-- b -->").left_out == ("1 HTML comment, which people do not see",)
    assert read_text("a").left_out == ()


@pytest.mark.parametrize(
    ("text", "shown", "told"),
    [
        # definitions of links
        ("a\n\n[//]: # (SECRET)", "a", "1 unused link definition"),
        ("a\n\n[//]: # (SECRET\nSECRET)\nb", "a\n\nb", "1 unused link definition"),
        ("[comment]: <> (SECRET)\n[//]: <> 'SECRET'", "", "2 unused link definitions"),
        ("> [//]: # (SECRET)", ">", "1 unused link definition"),
        ("- [//]: # (SECRET)", "-", "1 unused link definition"),
        ('[unused]: http://x "SECRET"', "", "1 unused link definition"),
        ("[unused]:\n  http://x\n  'SECRET'\n\na", "a", "1 unused link definition"),
        ('See [docs].\n\n[Docs]: http://x "SECRET"', "See [docs].\n\n[Docs]: http://x", "1 link title"),
        ("See [the docs][1].\n\n[1]: http://x", "See [the docs][1].\n\n[1]: http://x", ""),
        ("[x][SECRET WORDS]\n\n[SECRET WORDS]: http://x", "[x]", "2 unused link definitions"),
        ("[docs]: <SECRET WORDS>\n\n[docs]", "[docs]", "1 unused link definition"),
        ("a\n\n[^1]: SECRET\nSECRET\n\n    SECRET\n\nb", "a\n\n\nb", "1 unused footnote"),
        ("a[^1]\n\n[^1]: note", "a[^1]\n\n[^1]: note", ""),
        # links
        ('[a](http://x "SECRET") b', "[a](http://x) b", "1 link title"),
        ("[a](http://x 'SECRET') b", "[a](http://x) b", "1 link title"),
        ("[a](http://x (SECRET)) b", "[a](http://x) b", "1 link title"),
        ('[a](x(y)\\( "SECRET") b', "[a](x(y)\\() b", "1 link title"),
        ('[a](<http://x> "SECRET `") `b`', "[a](<http://x>) `b`", "1 link title"),
        ('[a](x\n"SECRET\nSECRET")\nb', "[a](x\n)\nb", "1 link title"),
        ('> [a](x "SECRET\n> SECRET") b', "> [a](x\n) b", "1 link title"),
        ("[a](<SECRET WORDS>) b", "[a](<>) b", "1 wordy link target"),
        ('[a](x) "shown"', '[a](x) "shown"', ""),
        ("[a](x) and (b)", "[a](x) and (b)", ""),
        # images
        ("![SECRET](http://x.png) b", "![](http://x.png) b", "1 image description"),
        ('![a [SECRET] b](x "SECRET")', "![](x)", "1 image description|1 link title"),
        ("![SECRET]\n\n[secret]: http://x", "![]\n\n[secret]: http://x", "1 image description"),
        ("[![SECRET](a)](b)", "[![](a)](b)", "1 image description"),
        ("Really![1]", "Really![1]", ""),
        # HTML
        ("a <b title='SECRET'>b</b>", "a <b>b</b>", "1 HTML attribute"),
        ("a <b SECRET words>b</b>", "a <b>b</b>", "2 HTML attributes"),
        ("a <b\ntitle='SECRET\nSECRET'>b</b>", "a <b>\nb</b>", "1 HTML attribute"),
        (
            '<img width="3" alt="SECRET" src="http://x.png">',
            '<img width="3" src="http://x.png">',
            "1 HTML attribute",
        ),
        ("<a href='http://x'>b</a>", "<a href='http://x'>b</a>", ""),
        ("a <a href='SECRET words'>b</a>", "a <a>b</a>", "1 HTML attribute"),
        ("<div>\n<b, SECRET words>b</b, SECRET>", "<div>\n<b,>b</b,>", "3 HTML attributes"),
        ("<div title=SECRET\nSECRET\n\na", "<div>", "3 HTML attributes"),
        ("a <span hidden>SECRET</span> b", "a  b", "1 hidden HTML element"),
        ("<div HIDDEN>\n\nSECRET\n\n<div>\n</div>SECRET</div>\n\nb", "b", "1 hidden HTML element"),
        ("<p style='color: red; display : none'>SECRET</p> b", " b", "1 hidden HTML element"),
        ("<p style='visibility:hidden'>SECRET</p>b", "b", "1 hidden HTML element"),
        ("a <div hidden>SECRET", "a", "1 hidden HTML element"),
        ("<div hidden>\n\n```\n</div>\n```\n\nSECRET", "", "1 hidden HTML element"),
        ("a <input hidden value='SECRET'> b", "a  b", "1 hidden HTML element"),
        ("a <p style='opacity: 0.5'>b", "a <p>b", "1 HTML attribute"),
        # what is no text
        ("a <?SECRET?> b", "a  b", "1 HTML declaration"),
        ("<?php\nSECRET\n\nSECRET ?>\nb", "b", "1 HTML declaration"),
        ("a <![CDATA[SECRET]]> b", "a  b", "1 HTML declaration"),
        ("<!DOCTYPE SECRET>\nb", "b", "1 HTML declaration"),
        ("```python SECRET words\na\n```", "```python\na\n```", "1 code block label"),
        ("- ``` SECRET words\n  a", "- ``` SECRET\n  a", "1 code block label"),
        # code that may not be code
        ("<div>\n`<?SECRET?>`", "<div>\n``", "1 HTML declaration"),
        ("> a\n> `<!-- SECRET -->`", "> a\n> ``", "1 HTML comment"),
        ("a `b\n` <!-- SECRET --> `", "a `b\n`  `", "1 HTML comment"),
        ("\\`<!-- SECRET -->\\`", "\\`\\`", "1 HTML comment"),
        ("<http://a`b> <!-- SECRET --> `", "<http://a`b>  `", "1 HTML comment"),
        ("a[^1]\n\n[^1]: b\n\n    <!-- SECRET -->", "a[^1]\n\n[^1]: b", "1 HTML comment"),
    ],
)
def test_what_people_do_not_see_reaches_nobody_and_is_told(text: str, shown: str, told: str) -> None:
    found = read_text(text)

    assert found.text == shown
    assert found.left_out == tuple(f"{one}, which people do not see" for one in told.split("|") if one)
    if " SECRET\n  a" not in shown:  # the name of a language
        assert "SECRET" not in repr(found)


@pytest.mark.parametrize(
    "text",
    [
        "- [ ] the page begins with `<!DOCTYPE html>`, and `<?php ?>` works",
        "Use `<!-- more -->` and ``<a title=`x`>``.",
        "```html\n<div hidden title='x'>\n[//]: # (x)\n```",
        "Words.\n\n    <div hidden title='x'>\n    [//]: # (x)",
        "A Map<String, Integer> with a < b and c > d, List<String> and <T>.",
        "<Key, Value> pairs, as in <https://example.com/?a=b> or <me@example.com>.",
        "- [ ] one\n- [x] two\n\n[INFO]: two words",
        "1. a\n   ```js\n   <Foo bar={x} />\n   ```",
        "See [a](b) (c) and [d][e], or [f].",
        "<details>\n<summary>More</summary>\n\nhere\n\n</details>",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)
def test_what_people_see_stays_as_it_is(text: str) -> None:
    found = read_text(text)

    assert found.text == text
    assert found.left_out == ()


def test_letters_that_only_machines_read_are_removed() -> None:
    secret = "".join(chr(0xE0000 + ord(one)) for one in "run this")

    found = read_text(f"Fix it.{secret}\n- [ ] do\u200bne\n")

    assert found.text == "Fix it.\n- [ ] done"
    assert found.criteria == ("done",)
    assert found.left_out == ("9 invisible characters",)


def test_escape_sequences_and_reversed_text_do_not_get_through() -> None:
    found = read_text("- [ ] \x1b[31mred\u202e\x07\r\nBlocked by #1\x00")

    assert "\x1b" not in found.text
    assert "\u202e" not in found.text
    assert found.criteria[0].startswith("red")


def test_a_remark_is_cleaned_and_cut_as_well() -> None:
    assert visible_text("a <!-- b -->" + "c" * 50, 10) == (
        "a cccccccc",
        ("1 HTML comment, which people do not see", "all text after the first 10 characters"),
    )


# --- blockers ---


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("Blocked by #12", ["#12"]),
        ("blocked by: #12, #13", ["#12", "#13"]),
        ("**Blocked by** #12 and #13", ["#12", "#13"]),
        ("Depends on ENG-4", ["ENG-4"]),
        ("Depends on octo/hello#5", ["octo/hello#5"]),
        ("- Depends on #1 (the parser) & #2.", ["#1", "#2"]),
        ("- [ ] blocked by #12", ["#12"]),
        ("This is blocked by #12", ["#12"]),
        ("It depends upon #12", ["#12"]),
        ("Dependencies: #12", ["#12"]),
        ("Depends on #12. See also #40.", ["#12"]),
        ("Blocked by nothing", []),
        ("No longer blocked by #12", []),
        ("~~Blocked by #12~~", []),
        ("See #12", []),
        ("Unblocked by #12", []),
        ("Depends on colour #12ab", []),
        ("## Blocked by\n- #12\n- ENG-4 the parser\n- and words", ["#12", "ENG-4"]),
        ("**Dependencies:**\n- [ ] #12\n\nWords.\n\n- #13", ["#12"]),
    ],
)
def test_lines_that_state_a_blocker(line: str, found: list[str]) -> None:
    assert blockers(f"Words.\n\n{line}\n") == found


def test_a_blocker_is_no_criterion() -> None:
    text = """
    ## Acceptance
    - [ ] blocked by #12
    - Depends on ENG-4
    - [ ] blocked by: https://github.com/o/r/issues/9
    - it works
    """

    assert criteria(text) == ["it works"]
    assert blockers(text) == ["#12", "ENG-4"]


# --- estimate ---


@pytest.mark.parametrize(
    ("line", "estimate"),
    [
        ("Estimate: 3", 3),
        ("**Estimate:** 2h", 2),
        ("- estimate: 2.5 hours", 2.5),
        ("Estimate: 1,5", 1.5),
        ("Estimate: 30m", 0.5),
        ("Estimated effort: 2 days", 16),
        ("Estimate: 5 points", 5),
        ("Estimate: a lot", None),
        ("We estimate: 3", None),
        ("Estimate 3", None),
        ("```\nEstimate: 3\n```", None),
    ],
)
def test_an_estimate_is_a_number(line: str, estimate: float | None) -> None:
    assert read_text(f"Words.\n\n{line}\n").estimate == estimate


# --- bounds ---


def test_everything_is_bounded_and_what_is_cut_is_said() -> None:
    many = "".join(f"- [ ] {number} {'x' * 600}\n" for number in range(MOST_CRITERIA + 10))
    waits = "Blocked by " + ", ".join(f"#{number}" for number in range(MOST_BLOCKERS + 10)) + "\n"

    found = read_text(waits + many + "y" * LONGEST_TEXT)

    assert len(found.text) <= LONGEST_TEXT
    assert len(found.criteria) == MOST_CRITERIA
    assert {len(one) for one in found.criteria} == {LONGEST_CRITERION}
    assert len(found.blockers) == MOST_BLOCKERS
    assert found.left_out == (
        "all text after the first 20,000 characters",
        "the end of each criterion of more than 500 characters",
        "all criteria after the first 50",
        "all blockers after the first 50",
    )


MARKS = st.sampled_from(
    ["- [ ] ", "- ", "* [x]", "1. ", "  ", "    ", "\t", "> ", "```", "~~~", "<!--", "-->", "\n", "\n\n", "# ", "## Done when", "**",
     "<b hidden>", "</b>", "<?", "?>", '[a](b "', '")', "[//]: # (", ")", "![", "](", "`", "<a title='", "'>", "[^1]: ",
     "Done when:", "Blocked by ", "#12", "ENG-4", "Estimate: 3", "---", "===", "\r\n", "\r", "\x1b[0m", "\u2028", "<pre>", "word"]
)  # fmt: skip


@given(st.lists(MARKS | st.text(max_size=5), max_size=60).map("".join))
def test_any_text_can_be_read(text: str) -> None:
    found = read_text(text)

    assert len(found.text) <= LONGEST_TEXT
    assert all(one and "\n" not in one and len(one) <= LONGEST_CRITERION for one in found.criteria)
    assert len(set(found.criteria)) == len(found.criteria)
    assert all("#" in one or "-" in one for one in found.blockers)
    assert not any("\x1b" in one for one in (found.text, *found.criteria))


@given(st.lists(MARKS, max_size=40).map("".join), st.lists(MARKS, max_size=40).map("".join))
def test_a_comment_of_its_own_never_adds_anything(before: str, inside: str) -> None:
    """Where no fence is open, and whatever is inside."""
    before = before.replace("`", "").replace("~", "").replace("<", "")
    inside = inside.replace("-->", "")

    with_it = read_text(f"{before}\n\n<!-- {inside} SECRET\n-->\n")

    assert "SECRET" not in with_it.text
    assert with_it.criteria == read_text(before).criteria
    assert with_it.blockers == read_text(before).blockers


HIDING = st.sampled_from(
    ["<!-- {} -->", "[//]: # ({})", "[comment]: <> ({})", '[unused]: x "{}"', "[unused]: <{}>", "[^unused]: {}", '[a](b "{}")', "![{}](b)",
     "[a](<{}>)", "<div hidden>{}</div>", "<b title='{}'>a</b>", "<?{}?>", "<![CDATA[{}]]>", "<!DOCTYPE {}>", "``` a {}", "<p {}>"]
)  # fmt: skip


@given(st.lists(MARKS, max_size=40).map("".join), HIDING, st.lists(MARKS, max_size=10).map("".join))
def test_nothing_that_is_hidden_in_a_paragraph_of_its_own_is_read(
    before: str, hiding: str, after: str
) -> None:
    """Where nothing before it is open, and whatever follows."""
    for one in "`~<[](){}'\"":
        before = before.replace(one, "")

    found = read_text(f"{before}\n\nwords\n\n{hiding.replace('{}', 'SECRET words')}\n\n{after}")

    assert "SECRET words" not in repr(found)
    assert any("people do not see" in told for told in found.left_out)


HOSTILE = [
    "<!--", "<!-- -->", "-->", "- ", "* ", "- [ ] x\n", "1. ", "> ", "#", "`", "```\n", "~~~\n", "**", "\t", " ", "\n", " \n", "a.", "a/",
    "#1,", "<!--\n", "<!-- x\n\n", "Done when:\n", "Acceptance\n---\n- a\n", "- \n  - \n", "Blocked by #1\n", "Estimate: ", "\x1b[",
    "\U000e0041", "\u200d", "\u2800", "👩\u200d", "](", '](u "', "](<", "![", "![a]", "[a]:", '[a]: b "\n', "[^a]:\n", "<a ", '<a b="', "<a\n",
    "<div>\n<a", "<b hidden>", "<b hidden></b>", "<?", "<![CDATA[", "<!A", "a `b``", "` `` ", "\\", "> <!--", "<div>\n\"", "[a](", "(", "[", "_", "A-", "\r", "<pre>\n", "- [ ] a\n  b\n",
]  # fmt: skip


@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.timeout(60)
def test_much_of_anything_takes_no_more_than_its_share(piece: str) -> None:
    """With a quadratic rule this would take minutes."""
    much = piece * (100_000 // len(piece))
    begun = time.perf_counter()
    read_text(f"{much}\nBlocked by {much}")

    assert time.perf_counter() - begun < 20


@pytest.mark.timeout(60)
def test_a_megabyte_is_read_in_seconds() -> None:
    begun = time.perf_counter()
    read_text("".join(HOSTILE) * (1_000_000 // len("".join(HOSTILE))))

    assert time.perf_counter() - begun < 30


@pytest.mark.timeout(60)
def test_deep_lists_are_no_deeper_than_the_stack() -> None:
    deep = "\n".join(f"{' ' * depth}- [ ] {depth}" for depth in range(0, 1400, 2))

    assert len(read_text(deep).criteria) == MOST_CRITERIA
