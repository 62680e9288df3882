from __future__ import annotations
from pathlib import Path
import pytest
from .shipping import GREEN, ShipProject, on_each_push
from .ticket_projects import BODY, change_settings, prompt_of, statuses, ticket_project
from .world.forge import Forge
SOURCE = "github:owner1/demo"

@pytest.fixture
def project(forge: Forge, tmp_path: Path) -> ShipProject:
    return ticket_project(forge, tmp_path)

def show(ran):
    print("EXIT", ran.returncode); print(ran.stdout[-3000:]); print("ERR", ran.stderr[-3000:])

def test_a_ready_then_merged(project, forge):
    n = forge.open_issue("Add the file", BODY, labels=["ralph"])
    on_each_push(forge, [("build", GREEN)], branch=f"ralph/demo-{n}")
    change_settings(project, delivery="pr")
    show(project.ralph("work", "--from", SOURCE))
    print(forge.issue(n)["labels"], statuses(project), [c["body"] for c in forge.comments(n)])
    (pull,) = forge.pulls()
    print(pull["title"], pull["body"])
    forge.merge_by("owner", pull["number"])
    forge.close_by  # noqa
    forge.api("PATCH", f"/issues/{n}", {"state": "closed"})
    show(project.ralph("work"))
    print(forge.issue(n)["state"], [l["name"] for l in forge.issue(n)["labels"]], statuses(project), [c["body"] for c in forge.comments(n)])

def test_b_edited_while_away(project, forge):
    n = forge.open_issue("Add the file", BODY, labels=["ralph"])
    project.program("worker", (project.programs / "worker").read_text().replace("#!/bin/sh\n", "").replace("echo '<promise>IMPL", "echo 'nothing IMPL"))
    show(project.ralph("work", "--from", SOURCE, "--max-iterations", "1"))
    print(statuses(project), [l["name"] for l in forge.issue(n)["labels"]])
    forge.edit_issue("owner", n, body=BODY + "- it is purple\n")
    show(project.ralph("task", "import", SOURCE, "--dry-run"))
    show(project.ralph("work", "--from", SOURCE, "--max-iterations", "1"))
    for f in sorted(project.programs.glob("prompt-*")):
        print(f.name, "purple" in f.read_text(), "edited" in f.read_text())
    print((sorted(project.programs.glob("prompt-*"))[0]).read_text()[:3000])
    show(project.ralph("task", "show", f"demo-{n}"))

def test_c_import_shows(project, forge):
    a = forge.open_issue("Add the file", BODY, labels=["ralph", "P1"])
    b = forge.open_issue("Add another", BODY + f"\nBlocked by #{a}\n\nEstimate: 2h\n", labels=["ralph"])
    c = forge.open_issue("Vague", "please", labels=["ralph"])
    d = forge.open_issue("Stranger", BODY, user="stranger", labels=["ralph"])
    forge.comment("stranger", "hi", number=a)
    show(project.ralph("task", "import", SOURCE))
    show(project.ralph("task", "check", SOURCE))
    show(project.ralph("task", "import", SOURCE, "--yes"))
    show(project.ralph("task", "import", SOURCE, "--yes"))
    show(project.ralph("task", "list"))
    show(project.ralph("task", "show", f"demo-{b}"))
    show(project.ralph("work", "--dry-run", "--from", SOURCE))
    show(project.ralph("work", "--from", SOURCE, "--label", "nobody"))
    print(statuses(project))
