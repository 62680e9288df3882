"""What the fleet's tests share: one server for all, and one of its own for a test that kills it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fleet.world.server import Server, open_server, share_server


@pytest.fixture(autouse=True)
def no_settings_of_temporal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of who runs the tests must not point at a server of theirs."""
    for name in list(os.environ):
        if name.startswith("TEMPORAL_"):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.getbasetemp()
    # The processes of xdist have folders of their own, in one that is for all.
    shared = folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder
    with share_server(shared / "temporal") as server:
        yield server


@pytest.fixture
def server(shared_server: Server) -> Server:
    """A namespace of the test's own on the server of all."""
    return shared_server.with_namespace()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """For a test that kills it; 8 seconds."""
    with open_server(tmp_path / "temporal") as server:
        yield server
