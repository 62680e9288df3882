"""A loop of each kind for every test, and the table of all of them at the end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Project, project

from .loops import LOOPS, Loop
from .matrix import FAILED, KINDS, NONE, OK, Cell, as_json, as_table

__all__ = ["project"]

CELLS = pytest.StashKey[list[Cell]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--matrix", metavar="FILE", help="write the fault matrix to FILE as JSON")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """All of it takes minutes: it runs only if it is asked for by name."""
    asked = any("faults" in argument for argument in config.args)
    return None if asked or not collection_path.name.startswith("test_") else True


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "promise(words): the promise of the README that is put to the test")
    config.addinivalue_line("markers", "act(words): what the agent does, if the test has no table of acts")
    config.stash[CELLS] = []
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Collector(config), "fault-matrix")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "loop" in metafunc.fixturenames:
        metafunc.parametrize("loop", KINDS, indirect=True)


@pytest.fixture
def loop(request: pytest.FixtureRequest, project: Project) -> Iterator[Loop]:
    made = LOOPS[request.param](project)
    yield made
    made.end()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    outcome = yield
    promise = item.get_closest_marker("promise")
    callspec = getattr(item, "callspec", None)
    if promise is not None and callspec is not None and "loop" in callspec.params:
        act = item.get_closest_marker("act")
        words = act.args[0] if act else callspec.params["act"]
        place = item.session.items.index(item)
        cell = {
            "promise": promise.args[0],
            "act": str(words),
            "kind": callspec.params["loop"],
            "place": place,
        }
        outcome.get_result().user_properties.append(("cell", cell))  # type: ignore[attr-defined]


class Collector:
    """Where all reports arrive, also those of parallel workers."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._cells: list[Cell] = config.stash[CELLS]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        named = dict(report.user_properties).get("cell")
        if isinstance(named, dict) and (report.when == "call" or not report.passed):
            result = OK if report.passed else NONE if report.skipped else FAILED
            reason = ""
            if not report.passed:
                text = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longreprtext
                reason = text.removeprefix("Skipped: ") if report.skipped else text.strip().splitlines()[-1]
            self._cells.append(Cell(**named, result=result, seconds=report.duration, reason=reason))

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._cells:
            self._cells.sort(key=lambda cell: cell.place)
            terminalreporter.section("promises, by kind of loop")
            for line in as_table(self._cells):
                terminalreporter.write_line(line)
        path = self._config.getoption("--matrix")
        if path:
            Path(path).write_text(json.dumps(as_json(self._cells), indent=2) + "\n")
