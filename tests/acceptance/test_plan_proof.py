"""``ralph plan run`` accepts a story only if what was committed passes the proof that it began with."""

from __future__ import annotations

import json
import shlex
import sys
from typing import Any

import pytest

from tests.plan_documents import story_json, tasks_json

from .conftest import Project
from .test_plan_run import COMMIT, LIMIT_REACHED, RUN, PlanRun

VERIFY = f"{shlex.quote(sys.executable)} -m unittest discover -s tests -t ."
TEST = """import unittest
from slug import slug
class Slugs(unittest.TestCase):
    def test_spaces(self):
        self.assertEqual(slug("Hello World"), "hello-world")
"""
GOOD = "def slug(text): return text.lower().replace(' ', '-')"
MARK = """import json, sys
path = "ralph/tasks.json"
document = json.load(open(path))
story = next(one for one in document["userStories"] if one["id"] == sys.argv[1])
story.update(json.loads(sys.argv[2]))
if story["passes"]:
    story["reviewCount"] += 1
json.dump(document, open(path, "w"), indent=2)
"""


class ProvenPlan(PlanRun):
    """Two stories, and a test that the code does not pass yet."""

    def write(self, **top: Any) -> None:
        self.mark.write_text(MARK)
        root = self.project.root
        self.project.git("init", "-q", "-b", "main")
        (root / "tests").mkdir()
        (root / "tests" / "__init__.py").touch()
        (root / "tests" / "test_slug.py").write_text(TEST)
        (root / "slug.py").write_text("def slug(text): return text\n")
        super().write(**top)
        (root / ".gitignore").write_text(".ralph/\n__pycache__/\n")
        document = tasks_json(
            story_json("A"), story_json("B", priority=2), branchName="ralph/search", verifyCommands=[VERIFY]
        )
        (root / "ralph" / "tasks.json").write_text(json.dumps(document, indent=2))
        self.project.git("commit", "-qam", "stories")

    def builds(self, shell: str, key: str = "A") -> str:
        fields = {"reviewStatus": "needs_review", "notes": "built", "reviewFeedback": ""}
        return f"{shell}; {self._marks(key, fields)}; {COMMIT}"

    def approves(self, key: str = "A") -> str:
        return f"{self._marks(key, {'reviewStatus': 'approved', 'passes': True})}; {COMMIT}"

    def _marks(self, key: str, fields: dict[str, Any]) -> str:
        return shlex.join([sys.executable, str(self.mark), key, json.dumps(fields)])

    def says(self, path: str, text: str) -> str:
        return f"printf '%s\\n' {shlex.quote(text)} > {path}"

    def states(self) -> list[str]:
        document = json.loads((self.project.root / "ralph" / "tasks.json").read_text())
        return [story["reviewStatus"] for story in document["userStories"]]


@pytest.fixture
def plan(project: Project) -> ProvenPlan:
    made = ProvenPlan(project)
    made.write()
    return made


def test_an_approval_is_refused_if_the_tests_were_gutted_even_by_an_earlier_run(plan: ProvenPlan) -> None:
    gutted = "printf 'import unittest\\nclass T(unittest.TestCase):\\n    def test_a(self): pass\\n' > tests/test_slug.py"
    plan.plays(plan.builds(gutted))
    plan.project.ralph(*RUN, "-n", "1", check=LIMIT_REACHED)
    plan.plays(plan.approves())

    said = plan.project.ralph(*RUN, "-n", "1", check=LIMIT_REACHED).stderr

    assert "the approval of A was refused" in said
    assert plan.states() == ["changes_requested", None]
    assert "tests/test_slug.py" in plan.story["reviewFeedback"]


def test_what_an_unaccepted_run_of_a_prompt_committed_is_not_the_baseline_of_a_plan(plan: ProvenPlan) -> None:
    gutted = "printf 'import unittest\\nclass T(unittest.TestCase):\\n    def test_a(self): pass\\n' > tests/test_slug.py"
    plan.plays(f"{gutted}; {COMMIT}; echo '<response>DONE</response>'")
    file = plan.project.root / ".ralph" / "settings.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "guardrails": [{"command": VERIFY}], "tests": "locked"}))
    prompt = "Fix it, then say <response>DONE</response>."
    plan.project.ralph("run", "-p", prompt, "-m", "1", "--no-sandbox", check=LIMIT_REACHED)
    file.write_text(json.dumps(settings))
    plan.plays(plan.builds("true"), plan.approves())

    said = plan.project.ralph(*RUN, "-n", "2", check=LIMIT_REACHED).stderr

    assert "the approval of A was refused" in said
    assert "tests/test_slug.py" in plan.story["reviewFeedback"]


def test_the_tests_of_an_accepted_story_are_proof_for_the_next(plan: ProvenPlan) -> None:
    more = TEST.replace("Hello World", "A b").replace("hello-world", "a-b").replace("Slugs", "More")
    plan.plays(
        plan.builds(f"{plan.says('slug.py', GOOD)}; {plan.says('tests/test_more.py', more)}"),
        plan.approves(),
        plan.builds(f"{plan.says('slug.py', GOOD.replace('lower', 'upper'))}; git rm -q tests/*_*.py", "B"),
        plan.approves("B"),
    )

    said = plan.project.ralph(*RUN, "-n", "4", check=LIMIT_REACHED).stderr

    assert "Check passed: clean checkout" in said
    assert "Check passed: planted failing test" in said
    assert plan.states() == ["approved", "changes_requested"]


@pytest.mark.parametrize("proof", ["guarded", "trusting"])
def test_what_git_commits_is_judged_not_what_lies_in_the_folder(plan: ProvenPlan, proof: str) -> None:
    convert = "git config filter.x.clean 'echo pass; cat >/dev/null'; echo 'slug.py filter=x' > .git/info/attributes"
    plan.plays(plan.builds(f"{convert}; {plan.says('slug.py', GOOD)}"), plan.approves())

    plan.project.ralph(*RUN, "-n", "2", "--proof", proof, check=LIMIT_REACHED)

    assert plan.states()[0] == ("approved" if proof == "trusting" else "changes_requested")
    assert plan.project.git("show", "HEAD:slug.py") == "pass\n"


def test_code_that_rewrites_its_tests_while_they_run_proves_nothing(plan: ProvenPlan) -> None:
    file = plan.project.root / "ralph" / "tasks.json"
    document = json.loads(file.read_text())
    document["verifyCommands"] = [f"{shlex.quote(sys.executable)} -c 'import slug' && {VERIFY}"]
    file.write_text(json.dumps(document, indent=2))
    plan.project.git("commit", "-qam", "import first")
    rewrites = "open('tests/test_slug.py', 'w').write(open('other.txt').read())\ndef slug(text): return text"
    other = TEST.replace("hello-world", "Hello World")
    plan.plays(
        plan.builds(f"{plan.says('other.txt', other)}; {plan.says('slug.py', rewrites)}"), plan.approves()
    )

    plan.project.ralph(*RUN, "-n", "2", check=LIMIT_REACHED)

    assert plan.states()[0] == "changes_requested"
    assert "it rewrote tests/test_slug.py" in plan.story["reviewFeedback"]


def test_a_program_that_a_builder_changed_does_not_review(plan: ProvenPlan) -> None:
    agent = plan.project.root / "agent.sh"
    agent.write_text(f'#!/bin/sh\nexec "{plan.project.programs}/claude" "$@"\n')
    agent.chmod(0o755)
    plan.project.git("add", "agent.sh")
    plan.project.git("commit", "-qm", "an agent of the project")
    plan.project.settings(agent={"command": "./agent.sh", "adapter": "claude"})
    plan.plays(plan.builds(f"{plan.says('slug.py', GOOD)}; echo '# mine' >> agent.sh"), plan.approves())

    said = plan.project.ralph(*RUN, "-n", "2", check=4).stderr

    assert "agent.sh was changed during the run, and whoever judges must be as when it began" in said
    assert plan.states() == ["needs_review", None]
