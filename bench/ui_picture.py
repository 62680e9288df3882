"""``python -m bench.ui_picture [FOLDER]``: pictures of the terminal UI after the demo and over a small shop, for the README."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.tui.sample import Record, add_tasks, earlier_run, work_on, write_plan
from tests.tui.seen import Viewer, picture_of, viewing

DEFAULT = Path(__file__).parent.parent / "docs" / "pictures"
SIZE = (120, 34)


def main(arguments: list[str]) -> None:
    target = Path(arguments[0]) if arguments else DEFAULT
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "demo"
        subprocess.run(
            [sys.executable, "-m", "ralph", "demo", str(project)],
            capture_output=True,
            check=True,
            timeout=120,
        )
        asyncio.run(_take(project, {"ui-demo": []}, target))
        shop = Path(folder) / "shop"
        shop.mkdir()
        earlier_run(shop)
        write_plan(shop)
        with Record(shop) as record:
            add_tasks(record.database)
            work_on(record)
            scenes: dict[str, list[str]] = {"ui": [], "ui-board": ["2"], "ui-iterations": ["5"]}
            asyncio.run(_take(shop, scenes, target))


async def _take(project: Path, scenes: dict[str, list[str]], target: Path) -> None:
    async with viewing(project, size=SIZE) as viewer:
        await viewer.sees("iteration ")
        for name, keys in scenes.items():
            await viewer.press(*keys)
            await viewer.settle()
            _write(viewer, target / f"{name}.svg")


def _write(viewer: Viewer, path: Path) -> None:
    path.write_text(picture_of(viewer.app))
    print(f"wrote {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
