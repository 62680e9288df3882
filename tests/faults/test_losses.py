"""Whatever is taken away, full or cut off: nothing is lost, nothing is called done, and one is told what to do."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .loops import HONEST, SCRIPT, Loop

pytestmark = pytest.mark.promise("Nothing is lost")


@pytest.mark.act("removes the repository")
def test_a_repository_that_the_agent_removes_is_told(loop: Loop) -> None:
    loop.agent(f'{HONEST}; rm -rf "$(git rev-parse --git-common-dir)"')
    ran = loop.run()
    assert re.search(
        r"(?i)(\.git|repository).*(removed|gone|missing|no longer|not a git)|not a git repository", ran.stderr
    ), ran.stderr
    if loop.kind in ("work", "plan"):
        assert ran.returncode not in (0, 3), ran.stderr


@pytest.mark.act("removes ralph's record")
def test_a_record_that_the_agent_removes_is_told(loop: Loop) -> None:
    loop.agent(f'{HONEST}; rm -rf "{loop.root}/.ralph"')
    ran = loop.run()
    assert ran.returncode == 4, ran.stderr
    assert re.search("removed or replaced|No such file", ran.stderr), ran.stderr
    assert not (loop.root / ".ralph" / "ralph.db").exists(), "nothing takes its place unasked"


@pytest.mark.act("removes the prompt")
def test_a_prompt_that_the_agent_removes_is_told_or_put_back(loop: Loop) -> None:
    if loop.kind == "work":
        pytest.skip("its prompt is the task in the record")
    file = "ralph/prompt.md" if loop.kind == "plan" else "PROMPT.md"
    loop.agent(f'if [ "$number" = 1 ]; then rm {file}; say later; exit; fi; {HONEST}')
    ran = loop.run(times=2)
    assert ran.returncode in (0, 2, 4), ran.stderr
    assert Path(file).name in ran.stderr


@pytest.mark.act("removes the guardrail's script")
def test_a_guardrail_that_the_agent_removes_has_failed(loop: Loop) -> None:
    loop.agent("rm check.sh")
    ran = loop.run(check=SCRIPT)
    assert ran.returncode == 1, ran.stderr
    assert not loop.believed()


FULL = """mount -t tmpfs -o size=24m tmpfs "$0" && cp -a "$1/." "$0" && cd "$0" || exit 99
shift
python=$1; shift
"$python" -m ralph "$@" > /dev/null 2> "$REPORT/first"; echo $? > "$REPORT/first-code"
rm -f "$0/fill" "$0"/.ralph/fill
"$python" -m ralph $AGAIN > /dev/null 2> "$REPORT/second"; echo $? > "$REPORT/second-code"
cp -a "$0/." "$REPORT/after"
"""


@pytest.mark.act("fills the disk")
def test_a_full_disk_is_told_and_the_run_goes_on_when_there_is_room(loop: Loop, tmp_path: Path) -> None:
    """On a small file system of its own, which only this process and its children see."""
    namespace = ["unshare", "--mount", "--map-root-user"]
    if (
        shutil.which("unshare") is None
        or subprocess.run(
            [*namespace, "mount", "-t", "tmpfs", "t", "/mnt"], check=False, capture_output=True
        ).returncode
    ):
        pytest.skip("a small file system cannot be mounted here")
    loop.agent(
        f'if [ "$number" = 1 ]; then cat /dev/zero > "{loop.root}/.ralph/fill" 2> /dev/null; fi; {HONEST}'
    )
    loop.prepare("true")
    original, report = tmp_path / "original", tmp_path / "report"
    shutil.copytree(loop.root, original, symlinks=True)
    report.mkdir()
    loop.iterations = 4
    again = " ".join(loop.again())
    subprocess.run(
        [*namespace, "sh", "-c", FULL, str(loop.root), str(original), sys.executable, *loop.command()],
        env=loop.project.env(REPORT=str(report), AGAIN=again),
        timeout=100,
        check=False,
    )
    first, second = ((report / name).read_text().strip() for name in ("first-code", "second-code"))
    said = (report / "first").read_text()
    assert "Traceback" not in said
    assert first == "4", said
    assert re.search(r"(?i)space|full|cannot be written|could not be written", said), said
    assert second == "0", said + (report / "second").read_text()
