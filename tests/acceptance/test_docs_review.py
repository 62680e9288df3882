"""docs/review.md: its workflow is executed with a scripted reviewer, and its tables are what ralph prints."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import yaml

from ralph.domain.loop.claims import MAX_TAG_CHARS, find_tags
from ralph.domain.review.answer import LONGEST_TITLE, MOST_FINDINGS, read_answer
from ralph.domain.review.document import document_of
from ralph.domain.review.finding import Finding, Place, Review, Severity
from tests.security.test_sandboxed_run import needs_bwrap

from .conftest import Project
from .review_project import FINDING, answer, begin
from .test_docs import ROOT, blocks

PAGE = ROOT / "docs" / "review.md"


@needs_bwrap
def test_the_workflow_reviews_and_writes_sarif(project: Project, tmp_path: Path) -> None:
    shop = begin(project)
    subprocess.run(
        ["git", "clone", "-q", "--bare", str(shop.root), str(tmp_path / "remote.git")], check=True, timeout=60
    )
    shop.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    shop.git("fetch", "-q", "origin")
    shop.git("checkout", "-q", "--detach")  # as CI does
    shop.git("branch", "-q", "-D", "main")
    shop.reviewer(answer(FINDING))
    shop.settings(sandbox={"readonly": [str(shop.programs / "reviewer")]})
    shop.program("ralph", f'exec {sys.executable} -m ralph "$@"')
    (workflow,) = map(yaml.safe_load, blocks(PAGE, "yaml"))
    steps: list[dict[str, Any]] = workflow["jobs"]["review"]["steps"]
    step = next(one for one in steps if one.get("name") == "Review")

    ran = subprocess.run(
        ["bash", "-e", "-c", step["run"]],
        cwd=shop.root,
        env=shop.env(BASE="main"),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )

    assert ran.returncode == 1, ran.stderr
    assert "1 finding: 1 high" in ran.stdout
    upload = steps[-1]["with"]["sarif_file"]
    (run,) = json.loads((shop.root / upload).read_text())["runs"]
    assert len(run["results"]) == 1


def test_the_tables_name_what_is_printed() -> None:
    finding = Finding(severity=Severity.LOW, title="t", explanation="e")
    printed = document_of(Review(what="w", commit="c", base="b", base_name="m", findings=(finding,)))
    text = PAGE.read_text()
    rows = re.findall(r"(?m)^\| ((?:`\w+`(?:, )?)+) \|", text)
    named = {name for row in rows for name in re.findall(r"\w+", row)}

    assert named == {*printed, *printed["findings"][0]}
    for word in (*Severity, *Place):
        assert f"`{word}`" in text


def test_the_answer_of_the_page_is_one_that_is_read() -> None:
    (block,) = (text for text in blocks(PAGE, "text") if text.startswith("<review-"))
    (tag,) = re.findall(r"\A<(review-[0-9a-f]{8})>$", block, re.MULTILINE)

    (said,) = find_tags(block, tag)
    answer = read_answer([said.content])

    assert answer.problems == ()
    assert answer.findings[0].where == "src/shop.py:3-4"
    for most in (MOST_FINDINGS, LONGEST_TITLE, f"{MAX_TAG_CHARS:,}"):
        assert f"at most {most} " in PAGE.read_text()
