"""``python -m bench.page_picture [FILE]``: a picture of the page after the demo, for the README."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from tests.web.browser import chromium

DEFAULT = Path(__file__).parent.parent / "docs" / "pictures" / "page.png"


def main(arguments: list[str]) -> None:
    target = Path(arguments[0]) if arguments else DEFAULT
    target.parent.mkdir(parents=True, exist_ok=True)
    ralph = [sys.executable, "-m", "ralph"]
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "shop"
        subprocess.run([*ralph, "demo", str(project)], capture_output=True, check=True, timeout=120)
        server = subprocess.Popen(
            [*ralph, "web", "--port", "0", "--project-dir", str(project)],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            assert server.stdout is not None
            address = server.stdout.readline().strip()
            with chromium() as browser:
                browser.size(1280, 800)
                browser.goto(address)
                browser.click(".run")
                browser.see(".chart")
                browser.run("() => { document.querySelector('.iteration:last-of-type').open = true; }")
                browser.run("() => document.querySelector('.stream').scrollTo(0, 1e9)")
                browser.picture(target)
        finally:
            server.terminate()
            server.communicate(timeout=30)
    print(f"wrote {target}")


if __name__ == "__main__":
    main(sys.argv[1:])
