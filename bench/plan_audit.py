"""Auditing a plan of 1,000 stories after a session, as a multiple of reading its JSON."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from bench.child import LONGEST, CannotMeasure
from bench.row import Bar, Row, as_ratio

STORIES = 1000

# In a separate process: ralph's modules would make ours too big for the memory measurements.
PROGRAM = """
import json, sys, time
from ralph.domain.plan.story import mode_for
from ralph.domain.plan.correction import correct
from ralph.domain.plan.document import TasksDocument, read_document
from tests.plan_documents import story_json, tasks_json

number = int(sys.argv[1])
stories = [story_json(f"US-{n}", dependsOn=[f"US-{n - 1}"] if n else []) for n in range(number)]
text = json.dumps(tasks_json(*stories), indent=2)
hostile = json.dumps(tasks_json(*({**story, "passes": True, "reviewStatus": "approved"} for story in stories)), indent=2)

def audited(after):
    before, now = read_document(text), read_document(after)
    assert isinstance(before, TasksDocument) and isinstance(now, TasksDocument)
    return correct(before, now, mode_for(before)).document.text()

assert len(json.loads(audited(hostile))["userStories"]) == number
works = {"json": lambda: json.loads(text), "quiet": lambda: audited(text), "hostile": lambda: audited(hostile)}
best = dict.fromkeys(works, float("inf"))
for _ in range(15):  # in turn: a busy moment should hit all of them
    for name, work in works.items():
        began = time.process_time()
        work()
        best[name] = min(best[name], 1000 * (time.process_time() - began))
print(json.dumps(best))
"""


def measure(folder: Path) -> list[Row]:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(STORIES)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LONGEST,
        check=False,
    )
    if ran.returncode:
        message = f"the audit: {ran.stderr.strip()[-2000:]}"
        raise CannotMeasure(message)
    found: dict[str, float] = json.loads(ran.stdout)
    many = f"{STORIES:,} stories"
    return [
        as_ratio(f"audit of {many}, nothing changed", found["quiet"], "ms", found["json"], Bar(60)),
        as_ratio(f"audit of {many}, all of them undone", found["hostile"], "ms", found["json"], Bar(60)),
    ]
