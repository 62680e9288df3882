"""WORKFLOW.md: what of Symphony's file becomes a setting of ralph's, and what is said about the rest."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ralph.adapters.documents.prompt_source import read_role_prompt
from ralph.config.demands import demands_of
from ralph.config.loading import InvalidSettings, Loaded, Sources, inspect, load, recorded
from ralph.config.workflow_file import LARGEST_BYTES
from ralph.errors import ConfigError

NAME = "WORKFLOW.md"
BODY = """You work on {{ issue.identifier }}: {{issue.title}}.

{{ issue.description }}

Keep the changelog."""
WHOLE = f"""---
tracker:
  kind: linear
  endpoint: https://evil.example/graphql
  api_key: $LINEAR_API_KEY
  project_slug: "Site-0c79b11b75ea"
  required_labels: [agent-ready]
  active_states: [Todo, In Progress]
  terminal_states:
    - Done
    - Canceled
polling:
  interval_ms: 30000
workspace:
  root: ~/workspaces
hooks:
  after_create: |
    git clone --depth 1 git@example.test:team/site.git .
    npm ci
  before_run: git fetch
  before_remove: |
    docker compose down
  timeout_ms: 120000
agent:
  max_concurrent_agents: 3
  max_turns: 20
codex:
  command: codex app-server
  turn_sandbox_policy:
    type: workspaceWrite
---

{BODY}
"""


def write(root: Path, text: str) -> None:
    (root / NAME).write_text(text, encoding="utf-8")


def write_settings(root: Path, values: object) -> None:
    (root / ".ralph").mkdir(exist_ok=True)
    (root / ".ralph/settings.json").write_text(json.dumps(values))


def loaded(root: Path, text: str, **environ: str) -> Loaded:
    write(root, text)
    return load(root, environ=environ)


def front(text: str, body: str = "") -> str:
    return f"---\n{text}\n---\n{body}"


def values(root: Path, text: str) -> Any:
    """What the file says in ralph's words."""
    write(root, text)
    return Sources.read(root, {}).project.values


# --- what it means ---


def test_a_whole_file_becomes_settings(tmp_path: Path) -> None:
    assert values(tmp_path, WHOLE) == {
        "tickets": {"source": "linear:project/site-0c79b11b75ea", "label": "agent-ready", "poll": 30.0},
        "workspace": {"setup": ["npm ci"], "teardown": ["docker compose down"], "timeout": 120.0},
        "profiles": {"verified": {"maxParallel": 3, "roles": {"coder": {"prompt": NAME}}}},
    }


def test_its_values_name_it_as_their_origin(tmp_path: Path) -> None:
    found = loaded(tmp_path, WHOLE)

    assert found.files == (NAME,)
    assert {found.origin(key).label for key in ("tickets.source", "workspace.setup", "tickets.poll")} == {
        NAME
    }
    assert found.settings.workspace.timeout == 120
    assert recorded(found)["workspace"]["setup"] == ["npm ci"]  # type: ignore[index]


def test_one_warning_names_what_is_not_used(tmp_path: Path) -> None:
    (warning,) = loaded(tmp_path, WHOLE).warnings

    assert str(warning).startswith(
        "WORKFLOW.md: not used by ralph: tracker.endpoint, tracker.api_key, tracker.active_states, tracker.terminal_states,"
        " workspace, hooks.after_create (its git clone: a worktree has the code already), hooks.before_run,"
        " agent.max_turns, codex; "
    )
    assert "LINEAR_API_KEY" in warning.hint


def test_a_file_of_which_everything_is_used_has_none(tmp_path: Path) -> None:
    found = loaded(tmp_path, front("tracker:\n  kind: github\n  provider:\n    repo: octo/hello"))

    assert (found.settings.tickets.source, found.warnings) == ("github:octo/hello", ())


def test_the_projects_own_settings_go_before_it_and_the_users_do_not(tmp_path: Path) -> None:
    (tmp_path / "ralph").mkdir()
    own = tmp_path / "ralph/settings.json"
    own.write_text(json.dumps({"tickets": {"poll": 90, "label": "mine", "ask": True}}))
    write_settings(tmp_path, {"tickets": {"label": "ours"}})

    found = loaded(tmp_path, WHOLE, XDG_CONFIG_HOME=str(tmp_path), RALPH_WORKSPACE__TIMEOUT="7")

    assert (found.settings.tickets.label, found.settings.tickets.poll) == ("ours", 30.0)
    assert found.settings.tickets.ask
    assert found.settings.workspace.timeout == 7


@pytest.mark.parametrize(
    ("tracker", "source"),
    [
        ("kind: linear\n  provider: {project_slug: site}", "linear:project/site"),
        ("kind: LINEAR\n  project_slug: site", "linear:project/site"),
        ("kind: github\n  provider: {repo: octo/hello}", "github:octo/hello"),
        ("kind: linear", ""),
        ("kind: linear\n  project_slug: $PROJECT", ""),
        ("kind: linear\n  project_slug: ~", ""),
        ("kind: jira\n  provider: {project_key: X}", ""),
        ("kind:", ""),
        ("project_slug: site", ""),
    ],
)
def test_a_tracker_becomes_the_source_of_tickets(tmp_path: Path, tracker: str, source: str) -> None:
    assert loaded(tmp_path, front(f"tracker:\n  {tracker}")).settings.tickets.source == source


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "kind: jira\n  provider: {project_key: X}",
            "tracker.kind (jira, a tracker that ralph does not know)",
        ),
        (
            "kind: linear\n  project_slug: $P",
            "tracker.project_slug (a variable, which ralph does not look up)",
        ),
        ("kind: linear\n  project_slug: s\n  required_labels: [a, b]", "ralph asks for one label"),
        ("kind: linear\n  provider: {project_slug: s, api_key: $KEY}", "tracker.provider.api_key"),
    ],
)
def test_what_cannot_be_used_is_said(tmp_path: Path, text: str, words: str) -> None:
    (warning,) = loaded(tmp_path, front(f"tracker:\n  {text}")).warnings

    assert words in warning.message


def test_two_labels_let_no_ticket_in_that_one_label_would(tmp_path: Path) -> None:
    text = front("tracker:\n  kind: linear\n  project_slug: s\n  required_labels: [a, b]")

    assert values(tmp_path, text) == {}


def test_a_variable_is_never_looked_up(tmp_path: Path) -> None:
    text = front(
        "tracker:\n  kind: linear\n  project_slug: $SECRET\n  api_key: $SECRET\nhooks:\n  after_create: $SECRET x"
    )
    found = loaded(tmp_path, text, SECRET="s3cret")

    assert "s3cret" not in repr((found.merged, found.warnings))
    assert found.settings.workspace.setup == ("$SECRET x",)  # the shell's, in the worktree


@pytest.mark.parametrize(
    ("script", "setup"),
    [
        ("git clone x .", ()),
        ("git clone x . && make", ("make",)),
        ('git clone --depth 1 "$URL" ./\nmake\n', ("make",)),
        ("git clone x vendor", ("git clone x vendor",)),
        ("make\n\nmake test", ("make\n\nmake test",)),
        ("", ()),
    ],
)
def test_a_clone_of_the_project_itself_is_left_out_of_the_setup(
    tmp_path: Path, script: str, setup: tuple[str, ...]
) -> None:
    text = front("tracker: {}\nhooks:\n  after_create: " + json.dumps(script))

    assert loaded(tmp_path, text).settings.workspace.setup == setup


def test_a_hurried_poll_is_as_fast_as_ralph_may_be(tmp_path: Path) -> None:
    assert loaded(tmp_path, front("tracker: {}\npolling: {interval_ms: 100}")).settings.tickets.poll == 5.0


# --- the prompt ---


def test_the_prompt_is_the_first_roles_with_ralphs_names(tmp_path: Path) -> None:
    found = loaded(tmp_path, WHOLE)

    prompt = found.settings.profiles.verified.roles["coder"].prompt
    assert read_role_prompt(tmp_path, prompt, "x") == (
        "You work on {{TASK_ID}}: {{TITLE}}.\n\n{{DESCRIPTION}}\n\nKeep the changelog.\n{{REMARKS}}"
    )


def test_the_first_role_is_that_of_the_settings(tmp_path: Path) -> None:
    write_settings(tmp_path, {"profiles": {"verified": {"stages": ["builder", "reviewer"]}}})

    assert list(loaded(tmp_path, WHOLE).settings.profiles.verified.roles) == ["builder"]


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ("{% if attempt %}again{% endif %}", "{% if attempt"),
        ("{{ issue.url }}", "{{ issue.url }}"),
        ("{{ issue.title | upcase }}", "{{ issue.title | upcase }}"),
        ("{{ attempt }}", "{{ attempt }}"),
    ],
)
def test_a_prompt_that_says_more_than_ralph_knows_is_left_out(tmp_path: Path, body: str, named: str) -> None:
    found = loaded(tmp_path, front("tracker: {}", f"Work.\n\n{body}"))

    assert found.settings.profiles.verified.roles == {}
    assert f"the prompt (ralph has nothing for {named})" in found.warnings[-1].message
    with pytest.raises(ConfigError, match="ralph has nothing"):
        read_role_prompt(tmp_path, NAME, "profiles.verified.roles.coder.prompt")


def test_a_file_without_a_prompt_leaves_the_roles_alone(tmp_path: Path) -> None:
    assert loaded(tmp_path, front("tracker: {}", "\n  \n")).settings.profiles.verified.roles == {}


# --- trust ---


def test_its_commands_and_instructions_need_the_users_trust(tmp_path: Path) -> None:
    write(tmp_path, WHOLE)
    found = Sources.read(tmp_path, {})

    asked = demands_of(found.project, found.own)

    assert {demand.source for demand in asked} == {NAME}
    assert {demand.key for demand in asked} == {
        "workspace.setup",
        "workspace.teardown",
        "tickets.source",
        "tickets.label",
        "tickets.poll",
        "profiles.verified.maxParallel",
        "profiles.verified.roles.coder.prompt",
    }
    without = found.without([demand.place for demand in asked]).load()
    assert without.settings.workspace.setup == ()
    assert without.settings.tickets.source == ""


# --- files that are something else, or broken ---


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# How we work\n\ntracker: the whiteboard",
        "---\n\nA line, and words: {of, documentation\n\n---\nMore",
        "---\ntitle: How we work\n---\n# How we work",
        "\x00\x01",
    ],
)
def test_a_file_of_that_name_that_is_not_symphonys_is_none_of_ours(tmp_path: Path, text: str) -> None:
    found = loaded(tmp_path, text)

    assert (found.files, found.warnings, found.contents) == ((), (), {})


def test_neither_is_a_folder_or_a_file_without_end(tmp_path: Path) -> None:
    write(tmp_path, WHOLE + "x" * LARGEST_BYTES)
    assert load(tmp_path, environ={}).files == ()
    (tmp_path / NAME).unlink()
    (tmp_path / NAME).mkdir()
    assert load(tmp_path, environ={}).files == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tracker:\n  kind: [linear", "WORKFLOW.md: line 4: not valid YAML: "),
        ("tracker:\n\tkind: linear", "WORKFLOW.md: line 3: not valid YAML: "),
        ("tracker: &a {kind: linear}\nother: *a", "line 3: not valid YAML: references"),
        ("- a\n- tracker", "WORKFLOW.md: "),
        (
            "tracker:\n  kind: linear\n  ? [a]\n  : b",
            "line 4: not valid YAML: a list or mapping cannot be a key",
        ),
        ("tracker: " + "[" * 30 + "]" * 30, "line 2: not valid YAML: nested deeper than 20 levels"),
        ("tracker: [" + "a," * 6_000 + "]", "line 2: not valid YAML: more than 5,000 values"),
        (
            "tracker: {}\npolling: {interval_ms: soon}",
            "polling.interval_ms: line 3: expected a whole number above 0",
        ),
        (
            "tracker: {}\nagent:\n  max_concurrent_agents: 0",
            "agent.max_concurrent_agents: line 4: expected a whole",
        ),
        (
            "tracker: {}\nhooks:\n  after_create: [a, b]",
            "hooks.after_create: line 4: expected a shell script",
        ),
        ("tracker:\n  kind: {a: b}", "tracker.kind: line 3: expected text"),
        (
            "tracker:\n  required_labels: [{a: b}]",
            "tracker.required_labels: line 3: expected a list of texts",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    write(tmp_path, front(text).replace("- tracker", "tracker: x"))

    problems = inspect(tmp_path, environ={}).problems

    assert any(words in str(problem) for problem in problems), problems
    with pytest.raises(InvalidSettings, match=r"WORKFLOW\.md"):
        load(tmp_path, environ={})


def test_a_key_that_appears_twice_is_doubted(tmp_path: Path) -> None:
    found = loaded(tmp_path, front("tracker: {}\npolling: {interval_ms: 9000}\npolling: {interval_ms: 8000}"))

    assert found.settings.tickets.poll == 8.0
    assert "appears twice" in found.warnings[0].message


@given(st.text(alphabet=st.sampled_from("tracker: \n-[]{}&*!|>'\"#%$,abc\t")), st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_no_file_makes_it_raise(tmp_path_factory: pytest.TempPathFactory, text: str, body: str) -> None:
    root = tmp_path_factory.getbasetemp() / "any"
    root.mkdir(exist_ok=True)
    (root / NAME).write_bytes(f"---\ntracker:\n{text}\n---\n{body}".encode("utf-8", "surrogatepass"))

    for problem in inspect(root, environ={}).problems:
        assert problem.where == NAME


# --- as a user meets it ---


def ralph(root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("RALPH_")}
    return subprocess.run(
        [sys.executable, "-m", "ralph", *arguments],
        cwd=root,
        env=environment | {"HOME": str(root), "XDG_CONFIG_HOME": str(root / "none")},
        capture_output=True,
        text=True,
        timeout=90,
    )


def test_config_shows_where_its_values_come_from(tmp_path: Path) -> None:
    write(tmp_path, WHOLE)
    (tmp_path / ".ralph").mkdir()

    shown = json.loads(ralph(tmp_path, "config", "show", "--json").stdout)

    assert shown["files"] == [NAME]
    assert shown["settings"]["workspace.setup"] == {"value": ["npm ci"], "source": NAME}
    assert shown["warnings"][0]["source"] == NAME
    checked = ralph(tmp_path, "config", "validate")
    assert checked.returncode == 0
    assert f"({NAME})" in checked.stdout


def test_a_broken_file_is_an_error_with_its_line_and_no_traceback(tmp_path: Path) -> None:
    write(tmp_path, front("tracker:\n  kind: [linear"))
    (tmp_path / ".ralph").mkdir()

    for arguments in (
        ["config", "show"],
        ["config", "validate"],
        ["doctor"],
        ["run", "x", "--agent", "true"],
    ):
        done = ralph(tmp_path, *arguments)
        said = done.stdout + done.stderr
        assert done.returncode in (1, 2, 4), (arguments, said)
        assert "WORKFLOW.md" in said
        assert "line 4" in said
        assert "Traceback" not in said


def test_yaml_is_not_loaded_where_there_is_no_such_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from ralph.config.loading import load;"
        f"load(Path({str(tmp_path)!r}), environ={{}}); print('yaml' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)

    assert done.stdout.strip() == "False"
