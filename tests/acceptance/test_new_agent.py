"""An agent that ralph does not have, added as one folder: nothing else has to be touched."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.security.test_sandboxed_run import needs_bwrap

from .conftest import DONE, PROMPT, Project

NEW_AGENTS = Path(__file__).with_name("new_agents")

# As if the folder were in the package itself.
IN_THE_PACKAGE = f"""
import ralph.adapters.agents
ralph.adapters.agents.__path__.append({str(NEW_AGENTS)!r})
"""

FABLE_TELLER = f"""
case "$1" in
--version) echo "fable-teller 3.1.4"; exit;;
--help) echo "--events --trust-me"; exit;;
whoami) exit 0;;
esac
printf '%s\\n' "$@" >> arguments
cat > asked
echo '{{"begins": "s-1"}}'
echo '{{"ran": "{DONE}"}}'
echo '{{"says": "Once upon a time. {DONE}"}}'
cat told 2>/dev/null
[ -e once ] && touch twice
touch once
echo '{{"ends": true}}'
"""


@pytest.fixture
def project(project: Project, tmp_path: Path) -> Project:
    (tmp_path / "sitecustomize.py").write_text(IN_THE_PACKAGE)
    project.environment = {"PYTHONPATH": str(tmp_path)}
    project.program("fable-teller", FABLE_TELLER)
    return project


def test_it_works_until_the_work_is_verifiably_done(project: Project) -> None:
    ran = project.ralph(
        "run", "-p", PROMPT, "--agent", "fable-teller", "--guardrail", "test -e twice", check=0
    )

    assert "agent fable-teller" in ran.stderr
    assert "permissions are skipped (--trust-me): fable-teller may run any command" in ran.stderr
    assert "Once upon a time." in ran.stdout
    assert (project.root / "arguments").read_text().splitlines() == ["--events", "--trust-me"] * 2
    assert PROMPT in (project.root / "asked").read_text()


def test_only_its_own_words_are_a_claim(project: Project) -> None:
    project.program("fable-teller", FABLE_TELLER.replace(f"Once upon a time. {DONE}", "The end?"))

    project.ralph("run", "-p", PROMPT, "--agent", "fable-teller", "-m", "2", check=1)


def test_its_faults_are_its_own(project: Project) -> None:
    (project.root / "told").write_text('{"fails": 401}\n')
    project.program("fable-teller", FABLE_TELLER.replace("""echo '{"ends": true}'""", "exit 1"))

    ran = project.ralph("run", "-p", PROMPT, "--agent", "fable-teller", check=4)

    assert "the muse is silent" in ran.stderr
    assert "log in: `fable-teller login`" in ran.stderr


def test_the_doctor_examines_it(project: Project) -> None:
    project.settings(agent={"command": "fable-teller"})

    printed = json.loads(project.ralph("doctor", "--json").stdout)

    found = {finding["name"]: finding for finding in printed["findings"]}["fable-teller"]
    assert (found["health"], found["text"]) == ("good", "3.1.4, logged in")
    assert (project.root / "once").exists() is False


def test_help_settings_and_hints_know_its_name(project: Project) -> None:
    assert "fable-teller" in project.ralph("run", "--help", check=0).stdout

    project.settings(agent={"command": "tell", "adapter": "fable-tellr"})
    assert 'did you mean "fable-teller"?' in project.ralph("config", "validate", check=2).stdout

    own = {"command": "tell", "output": "fable-teller"}
    project.settings(agent={"command": "tell", "adapter": "fable-teller"}, agents={"mine": own})
    project.ralph("config", "validate", check=0)
    ran = project.ralph("run", "-p", PROMPT, check=4)
    assert "agent not found: tell" in ran.stderr
    assert "pip install fable-teller" in ran.stderr

    project.settings(agent={"command": "fable-teller", "maxTurns": 3})
    assert "agent.maxTurns: fable-teller does not support it" in project.ralph("run", "-p", PROMPT).stderr


@needs_bwrap
def test_its_needs_are_in_its_sandbox(project: Project, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / ".fable").mkdir(parents=True)
    (home / ".fable" / "token").write_text("open")
    (home / ".other").mkdir()
    project.settings(sandbox={"readonly": [str(project.programs)]})
    seen = 'env | grep -o "^FABLE_KEY\\|^OTHER_KEY" > seen; ls -A "$HOME" >> seen; echo new > "$HOME/.fable/token"; touch "$HOME/.fable/used"\n'
    project.program("fable-teller", FABLE_TELLER.replace("cat > asked\n", f"cat > asked\n{seen}"))
    project.environment |= {"FABLE_KEY": "f", "OTHER_KEY": "o", "HOME": str(home)}

    ran = project.ralph("run", "-p", PROMPT, "--agent", "fable-teller", "--sandbox=bwrap", check=0)

    assert set((project.root / "seen").read_text().split()) >= {"FABLE_KEY", ".fable"}
    assert not {"OTHER_KEY", ".other"} & set((project.root / "seen").read_text().split())
    assert (home / ".fable" / "token").read_text() == "new\n"
    assert not (home / ".fable" / "used").exists()
    assert "api.fable.example" in ran.stderr
