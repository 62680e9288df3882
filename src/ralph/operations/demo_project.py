"""The demo's small repository, and the script of the agent that works on it."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

PROMPT = """\
The tests of this project fail. Make them pass without changing the tests.
When everything is done, output <response>DONE</response>.
"""

BROKEN_CODE = '''\
"""Prices in a shop. Some of this is wrong: the tests know."""


def total(prices):
    return sum(prices[1:])


def discounted(price, percent):
    return price - percent
'''

HALF_FIXED_CODE = BROKEN_CODE.replace("sum(prices[1:])", "sum(prices)")

FIXED_CODE = HALF_FIXED_CODE.replace("price - percent", "price * (100 - percent) / 100").replace(
    " Some of this is wrong: the tests know.", ""
)

TESTS = """\
import unittest

from shop import discounted, total


class ShopTest(unittest.TestCase):
    def test_total_adds_every_price(self):
        self.assertEqual(total([5, 10, 20]), 35)

    def test_total_of_nothing_is_zero(self):
        self.assertEqual(total([]), 0)

    def test_ten_percent_off(self):
        self.assertEqual(discounted(200, 10), 180)

    def test_no_discount(self):
        self.assertEqual(discounted(80, 0), 80)


if __name__ == "__main__":
    unittest.main()
"""

THINKING_SECONDS = 0.25


def project_files() -> dict[str, str]:
    return {
        "shop.py": BROKEN_CODE,
        "test_shop.py": TESTS,
        "PROMPT.md": PROMPT,
        ".gitignore": "__pycache__/\n",
        "run-tests": f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -m unittest -q\n",
    }


def agent_program(script: Path) -> str:
    """The embedded agent: a real program, started as a child process, that speaks claude's stream format."""
    agent = [sys.executable, "-m", "ralph.testing.fake_agent_cli", "--as", "claude", "--script", str(script)]
    return f'#!/bin/sh\nexec {shlex.join(agent)} "$@"\n'


def settings(agent: Path) -> str:
    return json.dumps(
        {
            "maximumIterations": 6,
            # With permissions chosen here, the header need not warn of an agent that may do anything.
            "agent": {"command": str(agent), "adapter": "claude", "flags": ["--permission-mode=acceptEdits"]},
            "guardrails": [{"command": "./run-tests", "hint": "Fix shop.py; do not touch the tests."}],
            "scm": {"command": "git", "tasks": ["commit"]},
        },
        indent=2,
    )


def script() -> str:
    """First a lie, then half of the work, then all of it."""
    pause = {"sleep": THINKING_SECONDS}
    plan = ("Read the failing tests", "Fix total()", "Fix discounted()")

    def todo(done: int) -> dict[str, object]:
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(plan)
        return {"todo": [list(pair) for pair in zip(plan, states, strict=False)]}

    lie = [
        {"say": "Let me look at the project."},
        {"run": "cat shop.py"},
        pause,
        {"say": "This looks fine to me. Everything is done! <response>DONE</response>"},
    ]
    half = [
        {"say": "The tests do fail. I will fix the code step by step."},
        {"run": "./run-tests 2>&1 | tail -n 20"},
        todo(1),
        pause,
        {"write": {"path": "shop.py", "content": HALF_FIXED_CODE}},
        {"say": "total() adds all prices now. The discount is next."},
    ]
    rest = [
        todo(2),
        pause,
        {"write": {"path": "shop.py", "content": FIXED_CODE}},
        {"run": "./run-tests 2>&1"},
        {"todo": [[text, "completed"] for text in plan]},
        {"say": "All tests pass. <response>DONE</response>"},
    ]
    commits = ["Compute totals and discounts correctly"]
    return json.dumps({"sessions": [lie, half, rest], "commits": commits}, indent=1)
