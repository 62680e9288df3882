"""The page as people use it, in a real browser: look, open, steer, stop, and come back after being away."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ralph.adapters.processes.process_table import started_of, this_process
from ralph.adapters.storage.tasks import TaskStore
from ralph.domain.agent.events import Text, TodoChanged, TodoItem, TodoStatus, ToolEnded, ToolStarted
from ralph.domain.loop.events import AgentActed, IterationStarted
from ralph.domain.loop.evidence import Verdict
from ralph.domain.tasks.task import Task

from .browser import Browser, chromium
from .conftest import LiveRun, Site, served, wait_for
from .loose_line import HERE, THERE, loose_line

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

HOSTILE = "<img src=x onerror=alert(1)><b>bold</b> \u202eevil \x1b[31mred"
STORIES = {
    "project": "Shop",
    "userStories": [
        {"id": "US-1", "title": "Totals", "passes": True, "reviewStatus": "approved", "reviewCount": 2},
        {
            "id": "US-2",
            "title": "Discounts",
            "reviewStatus": "changes_requested",
            "reviewCount": 1,
            "reviewFeedback": "applied twice",
            "acceptanceCriteria": ["a discount counts once"],
        },
        {"id": "US-3", "title": HOSTILE},
    ],
}

# What a reader with weak eyes needs: 4.5 to 1 for text (3 to 1 if it is large or bold enough).
FAINT = """
() => {
  const channels = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (colour) => channels(colour).slice(0, 3).map((each) => {
    const part = each / 255;
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  }).reduce((sum, part, index) => sum + part * [0.2126, 0.7152, 0.0722][index], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      const alpha = channels(colour)[3];
      if (alpha === undefined || alpha === 1) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || !element.checkVisibility() || element.closest("svg, .sr, .skip")) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(ground(element))];
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) found.push(`${element.className || element.tagName} ${ratio.toFixed(2)} ${element.textContent.slice(0, 30)}`);
  }
  return found;
}
"""
NAMELESS = """
() => [...document.querySelectorAll("a, button, input, textarea, select, summary, meter, progress, dialog[open]")]
  .filter((each) => !(each.textContent.trim() || each.getAttribute("aria-label") || each.labels?.length ||
    each.getAttribute("aria-labelledby"))).map((each) => each.outerHTML)
"""
TOO_WIDE = "() => document.documentElement.scrollWidth - window.innerWidth"


@pytest.fixture
def browser() -> Iterator[Browser]:
    with chromium() as opened:
        yield opened


@pytest.fixture
def plan(root: Path) -> None:
    (root / "ralph").mkdir()
    (root / "ralph" / "tasks.json").write_text(json.dumps(STORIES))


def test_from_the_board_to_a_run_to_steering_and_stopping_it(
    plan: None, live: LiveRun, site: Site, browser: Browser
) -> None:
    live.iterate(1, Verdict.FAILED)
    browser.goto(f"{site.address}#/run/r1")
    browser.see(".stream .event", "")  # a link to a run
    assert "token" not in browser.run("() => location.href")
    browser.goto(site.address)

    browser.see(".run.is-live", "r1")
    assert "token" not in browser.run("() => location.href")
    browser.see(".lane", "Changes requested")
    browser.click("text=Discounts")
    browser.see("dialog[open]", "a discount counts once")
    browser.press("Escape")
    browser.gone("dialog")

    browser.click(".run")
    browser.see(".run-title", "running")
    browser.see(".iteration", "claim denied")
    live.write(
        IterationStarted(2, 1, 10, "prompt"),
        AgentActed(
            (
                Text("I look at the tests first."),
                ToolStarted("t1", "Bash", "make test"),
                ToolEnded("t1", "Bash", "2 failed", is_error=True, lines=1, chars=8),
                TodoChanged((TodoItem("fix totals", TodoStatus.ACTIVE),)),
            )
        ),
    )
    browser.see(".stream .words", "I look at the tests first.")
    browser.see(".stream .tools", "2 failed")
    browser.see(".panel .todo", "fix totals")
    browser.see(".facts", "2 of 10")
    browser.see("#project", "project")
    assert "project" in browser.run("() => document.title")

    browser.click("text=Steer…")
    browser.fill("#steer-text", "Leave the parser alone.")
    browser.click("dialog button[type=submit]")
    browser.see("#said", "Added to the next prompt.")
    assert wait_for(live.steering, "the steering") == ["Leave the parser alone."]

    browser.click("button:has-text('Pause')")
    browser.see("#said", "It pauses after the current session.")
    assert [ask.value for ask in wait_for(live.hear, "the pause")] == ["pause"]

    browser.click("text=Stop…")
    browser.click("text=After the current step")
    browser.see("#said", "It stops after the current step.")
    assert [ask.value for ask in wait_for(live.hear, "the stop")] == ["stop"]

    live.end()
    browser.see(".run-title", "completed")
    browser.gone("text=Stop…")
    assert browser.complaints == []


def test_what_happened_while_the_line_was_down_is_there_afterwards(
    live: LiveRun, site: Site, browser: Browser
) -> None:
    with loose_line(urlsplit(site.base).port or 0) as line:
        browser.goto(site.address.replace(HERE, THERE))
        browser.click(".run")
        browser.see("#link", "live")
        live.say("before")
        browser.see(".words", "before")
        line.cut()
        browser.see("#link", "reconnecting")
        live.say(*(f"missed {number}" for number in range(300)))
        line.restore()
        browser.see("#link", "live")
        browser.see(".words", "missed 299")
        seen = browser.run(
            "() => [...document.querySelectorAll('.words .text')].map((each) => each.textContent)"
        )
        assert seen == ["before", *(f"missed {number}" for number in range(300))]


MARKDOWN = """## Found **it** in `cart.py`

1. *first* <script>alert(1)</script>
2. [here](https://example.com/a) [not](javascript:alert(1)) [nor](data:text/html,x) ![i](//example.com/i.png)

```html
<img src=x onerror=alert(1)>
```
"""
"""What an agent writes, and what it might try with it."""


def test_markdown_is_drawn_and_brings_nothing_with_it(live: LiveRun, site: Site, browser: Browser) -> None:
    live.write(IterationStarted(1, 1, 10, "prompt", prompt="Fix **all**\n\n- [ ] one", prompt_chars=23))
    live.say(MARKDOWN)
    browser.goto(site.address)
    browser.click(".run")
    browser.see(".words h5", "Found it in cart.py")
    assert browser.text(".words h5 strong") == "it"
    assert browser.text(".words li em") == "first"
    assert browser.text(".words pre code") == "<img src=x onerror=alert(1)>"
    links = "() => [...document.querySelectorAll('.md a')].map((each) => `${each.href} ${each.rel}`)"
    assert browser.run(links) == ["https://example.com/a noopener noreferrer"]
    assert "[not](javascript:alert(1))" in browser.text(".words li >> nth=1")
    assert browser.count("main :is(img, script, iframe)") == 0
    browser.click(".prompt summary")
    browser.see(".prompt .box", "☐ one")
    assert browser.complaints == []


LONG = """async () => {
  const { markdown } = await import("/markdown.js")
  const words = [...["*a ", "_a ", "**a ", "[a](", "`a``"].map((each) => each.repeat(30000)), `# a${" ".repeat(90000)}b #`]
  return words.map((each) => markdown(each).textContent.length > 1000)
}"""


def test_no_markdown_takes_long(site: Site, browser: Browser) -> None:
    browser.goto(site.address)
    assert browser.run(LONG) == [True] * 6, "bounded by the time that a page is given"


def test_an_empty_project_says_how_to_begin_and_a_tab_without_a_token_what_it_needs(
    root: Path, browser: Browser
) -> None:
    with served(root) as site:
        browser.goto(site.base)
        browser.see("main h1", "This tab needs the link")
        browser.fill("#door-link", site.address)
        browser.press("Enter")
        browser.see("main h1", "Nothing has run here yet")
        browser.see("main dt", "ralph run")
        browser.run("() => { sessionStorage.setItem('token', 'of-an-earlier-start'); location.reload() }")
        browser.see("main h1", "no longer valid")
        browser.see("main", "ralph web")


def test_hostile_text_stays_text(plan: None, live: LiveRun, site: Site, browser: Browser) -> None:
    live.say(HOSTILE)
    live.write(AgentActed((ToolEnded("t", HOSTILE, HOSTILE * 3, lines=3),)))
    browser.goto(site.address)
    browser.see(".card-title", "<img src=x")
    browser.click(".run")
    browser.see(".stream .words", "<img src=x onerror=alert(1)><b>bold</b>")
    assert browser.count("img, .stream b") == 0
    assert "\u202e" not in browser.text(".stream")
    assert browser.complaints == []


def test_earlier_events_are_fetched_when_asked_for(live: LiveRun, site: Site, browser: Browser) -> None:
    live.say(*(f"word {number}" for number in range(1000)))
    browser.goto(site.address)
    browser.click(".run")
    browser.see(".words", "word 999")
    assert browser.count(".words") < 400
    browser.click(".older")
    browser.see(".words", "word 700")
    first = browser.run("() => document.querySelector('.words .text').textContent")
    assert 600 <= int(str(first).removeprefix("word ")) < 800
    for _ in range(4):
        before = browser.count(".words")
        browser.click(".older")
        browser.run(
            f"() => new Promise((done) => {{ const look = () => document.querySelectorAll('.words').length > {before}"
            " || document.querySelector('.older').hidden ? done() : setTimeout(look, 20); look(); })"
        )
    assert browser.count(".words") == 1000
    assert browser.run("() => document.querySelector('.older').hidden") is True


def test_what_a_flood_pushed_out_of_the_page_can_be_asked_for_again(
    live: LiveRun, site: Site, browser: Browser
) -> None:
    live.say("the first word")
    browser.goto(site.address)
    browser.click(".run")
    browser.see(".words", "the first word")
    live.say(*(f"word {number}" for number in range(3000)))
    browser.see(".words", "word 2999")
    shown = browser.run(
        "() => [...document.querySelectorAll('.words .text')].map((each) => each.textContent)"
    )
    assert len(shown) <= 2000
    first = int(shown[0].removeprefix("word "))
    assert shown == [f"word {number}" for number in range(first, 3000)]
    browser.click(".older")
    browser.see(".words", f"word {first - 1}")
    shown = browser.run(
        "() => [...document.querySelectorAll('.words .text')].map((each) => each.textContent)"
    )
    assert shown[:201] == [f"word {number}" for number in range(first - 200, first + 1)]


def test_words_that_come_in_do_not_redraw_what_somebody_points_at(
    live: LiveRun, site: Site, browser: Browser
) -> None:
    live.iterate(1, Verdict.FAILED)
    browser.goto(site.address)
    browser.click(".run")
    browser.see(".iteration")
    browser.run("() => document.querySelector('.iteration summary').focus()")
    live.write(IterationStarted(2, 1, 10, "prompt"))
    browser.see(".iteration", "under way")
    assert browser.run("() => document.activeElement.tagName") == "SUMMARY"
    browser.run("() => { window.kept = [...document.querySelectorAll('.iteration')]; }")
    for number in range(5):
        live.say(f"word {number}")
        browser.see(".words", f"word {number}")
    assert browser.run("() => window.kept.length === 2 && window.kept.every((each) => each.isConnected)")


def test_a_task_is_cancelled_and_tried_again_on_the_board(
    live: LiveRun, site: Site, browser: Browser
) -> None:
    store = TaskStore(live.database, me=this_process(), started_of=started_of)
    store.add([Task(id="T-1", title="totals")], at=1.0)
    browser.goto(site.address)
    browser.click(".lane[aria-label^=Coder] .card")
    browser.click("text=Cancel this task")
    browser.click("dialog button[type=submit]")
    browser.see("#said", "T-1 is cancelled now.")
    browser.click(".lane[aria-label^=Cancelled] .card")
    browser.click("text=Try it again")
    browser.see("dialog", "Try again: T-1?")
    browser.click("dialog button:has-text('No')")
    browser.gone("dialog")
    browser.click(".lane[aria-label^=Cancelled] .card")
    browser.click("text=Try it again")
    browser.click("dialog button[type=submit]")
    browser.see("#said", "T-1 is open now.")
    browser.see(".lane[aria-label^=Coder] .card", "totals")
    assert browser.complaints == []


def test_a_run_of_runs_leads_to_its_parts_and_back(
    root: Path, live: LiveRun, site: Site, browser: Browser
) -> None:
    with closing(LiveRun(root / ".ralph", "r2", parent="r1", prompt="Totals", task="T-1")) as part:
        part.iterate(1)
        part.end()
        browser.goto(site.address)
        browser.see(".run[data-run=r1]", "1 part")
        assert browser.count(".run[data-run=r2]") == 0
        browser.click(".run[data-run=r1]")
        browser.click(".parts .run")
        browser.see("h1", "T-1 Totals")
        browser.click(".run-top a:has-text('r1')")
        browser.see(".parts .run", "T-1 Totals")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everyone_can_read_and_reach_everything(
    plan: None, live: LiveRun, site: Site, browser: Browser, scheme: str
) -> None:
    live.iterate(1, Verdict.FAILED)
    live.iterate(2, Verdict.PASSED)
    browser.scheme(scheme)
    browser.size(360, 740)
    browser.goto(site.address)
    browser.see(".run.is-live")
    assert browser.run(FAINT) == []
    assert browser.run(NAMELESS) == []
    assert browser.run(TOO_WIDE) <= 0

    browser.run("() => document.querySelector('.run').focus()")
    browser.press("Enter")
    browser.see(".iteration", "accepted")
    browser.see(".chart")
    browser.run("() => document.querySelector('.iteration summary').focus()")
    browser.press("Enter")
    browser.see(".iteration[open]", "make test")
    assert browser.run(FAINT) == []
    assert browser.run(NAMELESS) == []
    assert browser.run(TOO_WIDE) <= 0


def test_a_read_only_page_has_no_controls(root: Path, live: LiveRun, browser: Browser) -> None:
    with served(root, "--read-only") as site:
        browser.goto(site.address)
        browser.see("#mode", "read-only")
        browser.click(".run")
        browser.see(".run-title", "running")
        browser.see("text=Report")
        assert browser.count("text=Stop…") == 0
        assert browser.count("text=Steer…") == 0


def test_the_report_can_be_taken_along(live: LiveRun, site: Site, browser: Browser, tmp_path: Path) -> None:
    live.iterate(1)
    live.end()
    browser.goto(site.address)
    browser.click(".run")
    name = browser.download("text=Report", tmp_path / "report.html")
    assert name == "ralph-report-r1.html"
    assert "Completed" in (tmp_path / "report.html").read_text()
