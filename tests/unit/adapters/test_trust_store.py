"""What was trusted is kept outside every repository, for its owner alone, and survives whatever else happens to the file."""

from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ralph.adapters import trust_store
from ralph.domain.trust.seal import RECORDS, seal_of


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path / "home")}


def store_file(environ: dict[str, str]) -> Path:
    return Path(environ["HOME"], ".local", "state", "ralph", "trust.json")


def test_many_at_once_lose_nothing(environ: dict[str, str], tmp_path: Path) -> None:
    folders = [tmp_path / str(number) for number in range(20)]
    for folder in folders:
        folder.mkdir()

    def use(folder: Path) -> None:
        trust_store.remember(str(folder), [folder.name], environ)
        trust_store.seal(str(folder), environ)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(use, folders))
    assert all(trust_store.trusted_digests(str(one), environ) == {one.name} for one in folders)
    assert all(trust_store.is_sealed(str(one), environ) for one in folders)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "null",
        "[" * 100_000,
        '{"projects": [1], "key": 5}',
        '{"projects": {"/p": {"x": 1}}, "key": "zz"}',
        '{"projects": {"/p": [5, null]}, "key": "00"}',
    ],
)
def test_a_damaged_file_trusts_nothing_and_is_replaced(
    environ: dict[str, str], tmp_path: Path, text: str
) -> None:
    file = store_file(environ)
    file.parent.mkdir(parents=True)
    file.write_text(text)
    file.chmod(0o600)
    assert trust_store.trusted_digests("/p", environ) == frozenset()
    assert not trust_store.is_sealed(str(tmp_path), environ)
    trust_store.remember("/p", ["a"], environ)
    trust_store.seal(str(tmp_path), environ)
    assert trust_store.trusted_digests("/p", environ) == {"a"}
    assert trust_store.is_sealed(str(tmp_path), environ)


def test_a_link_in_its_place_is_not_read(environ: dict[str, str], tmp_path: Path) -> None:
    trust_store.remember("/p", ["a"], environ)
    file = store_file(environ)
    file.rename(tmp_path / "elsewhere")
    file.symlink_to(tmp_path / "elsewhere")
    assert trust_store.trusted_digests("/p", environ) == frozenset()


@pytest.mark.parametrize("folder", ["", "relative", "./x"])
def test_there_is_no_place_for_it_in_whatever_project_this_is(folder: str) -> None:
    assert trust_store.store_folder({"XDG_STATE_HOME": folder}) == ""
    assert trust_store.store_folder({"XDG_STATE_HOME": folder, "HOME": folder}) == ""
    with pytest.raises(OSError, match="no home folder"):
        trust_store.remember("/p", ["a"], {"XDG_STATE_HOME": folder})


def test_a_seal_counts_in_its_place_and_for_its_user_only(environ: dict[str, str], tmp_path: Path) -> None:
    mine, other = tmp_path / "mine" / ".ralph", tmp_path / "other" / ".ralph"
    mine.mkdir(parents=True)
    trust_store.seal(str(mine), environ)
    assert trust_store.is_sealed(str(mine), environ)
    assert not trust_store.is_sealed(str(mine), {"HOME": str(tmp_path)})
    mine.parent.rename(other.parent)
    assert not trust_store.is_sealed(str(other), environ)
    other.parent.rename(mine.parent)
    (mine / trust_store.SEAL).write_text(seal_of(str(mine), bytes(32)))  # another key
    assert not trust_store.is_sealed(str(mine), environ)


def test_a_folder_that_is_in_use_gets_no_seal_by_itself(tmp_path: Path) -> None:
    for name in RECORDS:
        folder = tmp_path / name / ".ralph"
        (folder / name).mkdir(parents=True)
        trust_store.seal_unless_used(str(folder))
        assert not trust_store.is_sealed(str(folder), os.environ)
    fresh = tmp_path / "fresh" / ".ralph"
    fresh.mkdir(parents=True)
    (fresh / "settings.json").write_text("{}")
    trust_store.seal_unless_used(str(fresh))
    assert trust_store.is_sealed(str(fresh), os.environ)


def test_forgetting_one_project_keeps_the_others(environ: dict[str, str]) -> None:
    trust_store.remember("/a", ["1"], environ)
    trust_store.remember("/b", ["2"], environ)
    trust_store.forget("/a", environ)
    assert trust_store.trusted_digests("/a", environ) == frozenset()
    assert trust_store.trusted_digests("/b", environ) == {"2"}
    assert list(json.loads(store_file(environ).read_text())["projects"]) == ["/b"]
