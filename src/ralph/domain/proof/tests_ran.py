"""Whether a test command that succeeded tested anything at all, judged by its closing lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from ralph.domain.text.excerpt import TRUNCATION_MARK
from ralph.patterns import pattern
from ralph.values import dataclass

_COLORS = pattern(r"\x1b\[[0-9;?]*[A-Za-z]")
_LINES = 20_000
"""Of the end of the output: closing lines are there."""


@dataclass(frozen=True, slots=True)
class Tally:
    """What a runner says: ``passed`` tests really ran and held; one that was skipped or may fail proves nothing."""

    passed: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Runner:
    """``command`` finds it in a command, which has one of ``words`` then; ``tallies`` reads its closing lines, wherever
    it was started from."""

    name: str
    words: tuple[str, ...]
    command: re.Pattern[str]
    tallies: Callable[[str], Iterator[Tally]]

    def is_in(self, command: str) -> bool:
        return any(word in command for word in self.words) and bool(self.command.search(command))


def nothing_was_tested(command: str, output: str) -> str:
    """Why its success proves nothing; empty if it proves something, or is not a test runner we know."""
    text = _closing(output)
    told = [(runner, list(runner.tallies(text))) for runner in RUNNERS]
    spoke = [(runner, tallies) for runner, tallies in told if tallies]
    if any(tally.passed for _, tallies in spoke for tally in tallies):
        return ""
    if spoke:
        return f"{spoke[0][0].name} ran no test (what is skipped, deselected or may fail does not count)"
    silent = next((runner for runner in RUNNERS if runner.is_in(command)), None)
    is_cut = TRUNCATION_MARK in output or output.count("\n") > _LINES  # it may have spoken before
    if silent is not None and not is_cut and not re.search(r"[|>]|<\(", command):
        return f"{silent.name} ended without saying what it ran"
    return ""


def names_runner(command: str) -> bool:
    """Whether a command starts a test runner itself, so that whatever it says is about tests."""
    return any(runner.is_in(command) for runner in RUNNERS)


def ran_no_test(output: str) -> bool:
    """Whether a test runner says itself that there was nothing to run."""
    tallies = [tally for runner in RUNNERS for tally in runner.tallies(_closing(output))]
    return bool(tallies) and not any(tally.passed or tally.failed for tally in tallies)


def failures_in(output: str) -> str:
    """What the last closing line says about failed tests; empty if it names none."""
    text = _closing(output)
    for runner in RUNNERS:
        if (tallies := list(runner.tallies(text))) and tallies[-1].failed:
            number = tallies[-1].failed
            return f"{runner.name} says that {number} {'test' if number == 1 else 'tests'} failed"
    return ""


def _closing(output: str) -> str:
    """Its last lines, without colors."""
    return "\n".join(_COLORS.sub("", output).splitlines()[-_LINES:])


def runs_tests(command: str) -> bool:
    """Whether a command looks as if it ran the tests of the project, itself or through a wrapper."""
    return names_runner(command) or bool(_WRAPPER.search(command))


_AT_COMMAND = r"(?:^|[;&|({\n`]|\b(?:exec|time|env|nice|timeout\s+\S+|run|xvfb-run|then|do|else)\b)\s*(?:\w+=\S*\s+)*(?:\S*/)?"
_WRAPPER = pattern(
    _AT_COMMAND
    + r"(?:(?:npm|pnpm|yarn|bun)\s+(?:\S+\s+)*?(?:run\s+)?(?:t|tst|test\S*|check\S*|verify\S*|ci)\b"
    r"|(?:make|just|task|rake|invoke|inv|poe|pdm|hatch|bazel|gradle|gradlew|mvn|mvnw|ctest|meson|mix|dotnet|swift|rspec"
    r"|phpunit|deno|bats|prove)\b|(?:tox|nox)\b"
    r"|(?:ba|z|da)?sh\s+\S*(?:test|check|verify|ci)\S*|\.?/?\S*(?:run[-_]?tests?|check|verify)\S*\.(?:sh|py|bash))"
)


def _at(words: str) -> re.Pattern[str]:
    return pattern(_AT_COMMAND + words)


# --- pytest ---

_PYTEST_WORDS = "passed|failed|errors?|skipped|deselected|xfailed|xpassed|warnings?|rerun|subtests? passed"
_PYTEST_COUNT = pattern(rf"(\d+) ({_PYTEST_WORDS})")
_PYTEST_END = pattern(
    rf"^(?:=+ )?((?:(?:\d+ (?:{_PYTEST_WORDS})"
    r"|no tests ran|no tests collected|\d+(?:/\d+)? tests? collected)(?: \(\d+ deselected\))?(?:, )?)+)"
    r" in [\d.]+s(?: \([\d:]+\))?(?: =+)?\s*$",
    re.MULTILINE,
)
_PYTEST_DOTS = pattern(r"^(?:\S+ )?([.FEsxXR]+) +\[ *\d+%\]$", re.MULTILINE)
_PYTEST_RESULTS = pattern(r"^Results \([\d.]+s.*\):\s*\n((?:\s+-? ?\d+ \w+.*\n?)+)", re.MULTILINE)


def _pytest(text: str) -> Iterator[Tally]:
    ends = [found[1] for found in (*_PYTEST_END.finditer(text), *_PYTEST_RESULTS.finditer(text))]
    for end in ends:
        counts: dict[str, int] = {}
        for number, word in _PYTEST_COUNT.findall(end):
            counts[word] = counts.get(word, 0) + int(number)
        passed = counts.get("passed", 0) + counts.get("xpassed", 0)
        failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
        yield Tally(passed, failed)
    if not ends:  # -qq prints nothing but its progress
        dots = "".join(found[1] for found in _PYTEST_DOTS.finditer(text))
        if dots:
            yield Tally(dots.count(".") + dots.count("X"), dots.count("F") + dots.count("E"))


# --- unittest (and Django's runner) ---

_UNITTEST = pattern(
    r"^Ran (\d+) tests? in [\d.]+s\s*\n\s*(OK|FAILED|NO TESTS RAN)?(?: \(([^)\n]*)\))?", re.MULTILINE
)


def _unittest(text: str) -> Iterator[Tally]:
    for found in _UNITTEST.finditer(text):
        parts = {name.strip(): int(number) for name, number in re.findall(r"([a-z ]+)=(\d+)", found[3] or "")}
        failed = parts.get("failures", 0) + parts.get("errors", 0) + parts.get("unexpected successes", 0)
        idle = parts.get("skipped", 0) + parts.get("expected failures", 0)
        yield Tally(max(0, int(found[1]) - idle - failed), failed)


# --- JavaScript: jest, vitest, mocha, node ---

_JEST = pattern(r"^Tests:\s+(.*\btotal)\b", re.MULTILINE)
_VITEST = pattern(r"^\s*Tests\s{2}(no tests|.*\(\d+\))", re.MULTILINE)
_NO_FILES = pattern(r"^No test(?:s| files) found, exiting with code 0", re.MULTILINE)
_MOCHA = pattern(r"^\s*(\d+) passing \([^)\n]+\)((?:\n\s*\d+ (?:pending|failing))*)", re.MULTILINE)
_NODE = pattern(r"^(?:#|\u2139) tests \d+\n((?:(?:#|\u2139) \w+ [\d.]+\n?)+)", re.MULTILINE)


def _jest(text: str) -> Iterator[Tally]:
    for found in (*_JEST.finditer(text), *_VITEST.finditer(text)):
        yield Tally(_number(found[1], "passed"), _number(found[1], "failed"))
    if _NO_FILES.search(text):
        yield Tally()


def _mocha(text: str) -> Iterator[Tally]:
    for found in _MOCHA.finditer(text):
        yield Tally(int(found[1]), _number(found[2], "failing"))


def _node(text: str) -> Iterator[Tally]:
    for found in _NODE.finditer(text):
        counts = {name: int(float(number)) for name, number in re.findall(r"(\w+) ([\d.]+)", found[1])}
        yield Tally(counts.get("pass", 0), counts.get("fail", 0) + counts.get("cancelled", 0))


def _number(text: str, word: str) -> int:
    return sum(int(number) for number in re.findall(rf"(\d+) {word}\b", text))


# --- go, cargo ---

_GO_NONE = pattern(r"^\?\s+\S+\s+\[no test files\]", re.MULTILINE)
_GO_PACKAGE = pattern(r"^(ok|FAIL)\s+\S+\s+(?:[\d.]+s|\(cached\)|\[[^\]]*\])(.*)$", re.MULTILINE)
_GO_TEST = pattern(r"^\s*--- (PASS|FAIL|SKIP): ", re.MULTILINE)
_GO_JSON = pattern(r'"Action":"(pass|fail|skip)"[^\n]*?"Test":"')
_CARGO = pattern(r"^test result: \w+\. (\d+) passed; (\d+) failed;", re.MULTILINE)
_NEXTEST = pattern(r"^\s*Summary \[[^\]]*\] +\d+(?:/\d+)? tests? run: (.*)$", re.MULTILINE)


def _go(text: str) -> Iterator[Tally]:
    singles = [*_GO_TEST.findall(text), *(word.upper() for word in _GO_JSON.findall(text))]
    packages = [(found[1], found[2]) for found in _GO_PACKAGE.finditer(text)]
    if singles:  # -v and -json name every test
        yield Tally(singles.count("PASS"), singles.count("FAIL"))
    elif packages:
        ran = [state for state, rest in packages if "[no tests to run]" not in rest]
        yield Tally(ran.count("ok"), ran.count("FAIL"))
    elif _GO_NONE.search(text) or "testing: warning: no tests to run" in text:
        yield Tally()


def _cargo(text: str) -> Iterator[Tally]:
    for found in _CARGO.finditer(text):
        yield Tally(int(found[1]), int(found[2]))
    for found in _NEXTEST.finditer(text):
        yield Tally(_number(found[1], "passed"), _number(found[1], "failed"))


RUNNERS = (
    Runner(
        "pytest",
        ("pytest", "py.test"),
        _at(r"(?:python[\d.]*\s+(?:-\w+\s+)*-m\s+)?(?:pytest|py\.test)\b"),
        _pytest,
    ),
    Runner(
        "unittest",
        ("unittest", "manage.py"),
        _at(r"(?:python[\d.]*\s+(?:-[A-Za-z]+\s+)*-m\s+unittest\b|\S*manage\.py\s+test\b)"),
        _unittest,
    ),
    Runner(
        "jest", ("jest", "vitest"), _at(r"(?:npx\s+|yarn\s+|pnpm\s+(?:exec\s+)?)?(?:jest|vitest)\b"), _jest
    ),
    Runner("mocha", ("mocha",), _at(r"(?:npx\s+)?mocha\b"), _mocha),
    Runner("node", ("node",), _at(r"node\s+(?:\S+\s+)*?--test\b"), _node),
    Runner("go test", ("go",), _at(r"go\s+(?:-\S+\s+\S+\s+)?test\b"), _go),
    Runner("cargo", ("cargo",), _at(r"cargo\s+(?:\+\S+\s+)?(?:test|t|nextest\s+run)\b"), _cargo),
)
