"""``ralph review`` with a real agent: it is told to only read, looks, and answers with findings."""

from __future__ import annotations

import json

from ralph.testing.model import Step

from .harness import LiveProject

ANSWER = {
    "findings": [
        {
            "severity": "high",
            "file": "a.py",
            "line": 1,
            "title": "It divides by zero",
            "explanation": "Always.",
        }
    ]
}
TAG = r"<(review-[0-9a-f]{8})>"


def test_a_review_finds_something_and_changes_nothing(project: LiveProject) -> None:
    project.git("checkout", "-q", "-b", "feature")
    (project.root / "a.py").write_text("x = 1 / 0\n")
    project.git("add", "a.py")
    project.git("commit", "-q", "-m", "Divide")
    before = project.git("for-each-ref"), project.git("rev-parse", "HEAD")
    said = f"I looked.\n\n<{{quoted}}>\n{json.dumps(ANSWER)}\n</{{quoted}}>"
    with project.model(Step(text=said, quotes=TAG, times=3)) as model:
        project.settings(model.url)
        with project.running("--no-sandbox", "--json", command="review") as process:
            out, err = process.communicate(timeout=240)
        asked = [request.text for request in model.main_requests]

    assert process.returncode == 1, err
    (finding,) = json.loads(out)["findings"]
    assert (finding["file"], finding["line"], finding["place"]) == ("a.py", 1, "line")
    assert "+x = 1 / 0" in asked[0]
    assert (project.git("for-each-ref"), project.git("rev-parse", "HEAD")) == before
    assert project.git("status", "--porcelain", "--", ":!.ralph") == ""
