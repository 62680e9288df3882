"""``ralph run`` as its users meet it: the basic loop with real processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.plan_documents import tasks_json

from .conftest import DONE, PROMPT, Project


def test_the_agent_is_run_until_it_is_done_and_the_guardrail_agrees(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        guardrails=[{"command": "test -f made", "failAction": "PREPEND", "hint": "Make the file."}],
    )
    project.agent(
        [{"say": f"Finished! {DONE}"}], [{"write": {"path": "made", "content": "x"}}, {"say": DONE}]
    )

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert "Completed" in ran.stderr
    assert project.prompt(1) == PROMPT
    assert project.prompt(2) == (
        'Guardrail "test -f made" failed with exit code 1.\n'
        "Hint: Make the file.\n"
        "Output file: .ralph/guardrail_001_test_f_made.log\n"
        "Output:\n"
        f"\n\n{PROMPT}"
    )
    assert project.rows("SELECT iteration, decision, claimed, proven FROM iterations") == [
        (1, "continue", 1, 0),
        (2, "accept", 1, 1),
    ]
    assert project.rows("SELECT outcome FROM runs") == [("completed",)]


@pytest.mark.parametrize("agent", ["claude", "codex", "amp", "anything"])
def test_every_agent_can_say_done_in_its_own_format(project: Project, agent: str) -> None:
    project.settings(agent={"command": agent})
    project.agent([{"run": "echo work > file.txt"}, {"say": f"ok {DONE}"}], name=agent)

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert f"ok {DONE}" in ran.stdout
    assert (project.root / "file.txt").read_text() == "work\n"


@pytest.mark.parametrize(
    "session",
    [
        pytest.param([{"run": f"echo '{DONE}'"}, {"say": "see above"}], id="in a tool result"),
        pytest.param([{"think": DONE}, {"say": "hm"}], id="in a thought"),
        pytest.param([{"say": "<response>DO"}, {"say": "NE</response>"}], id="in two halves"),
        pytest.param([{"say": "DONE"}], id="as a bare word"),
        pytest.param([{"say": "<response>not DONE</response>"}], id="negated"),
        pytest.param([{"print": DONE}, {"say": "hm"}], id="as noise on stdout"),
        pytest.param([{"stderr": DONE}, {"say": "hm"}], id="on stderr"),
        pytest.param([{"say": f"<response>no</response> {DONE}"}], id="after another response"),
    ],
)
def test_nothing_but_the_assistants_own_whole_tag_counts(project: Project, session: list[object]) -> None:
    project.settings(agent={"command": "claude"})
    project.agent(session)  # type: ignore[arg-type]

    ran = project.ralph("run", "-p", PROMPT, "-m", "2")

    assert ran.returncode == 1
    assert "maximum iterations reached (2)" in ran.stderr


def test_a_plain_agent_that_echoes_its_prompt_has_not_said_anything(project: Project) -> None:
    project.settings(agent={"command": "parrot"})
    project.agent([{"echo_prompt": True}], name="parrot")
    assert project.ralph("run", "-p", PROMPT, "-m", "1").returncode == 1
    assert project.ralph("run", "-p", "Do it.", "-m", "1").returncode == 1
    project.program("parrot", "tail -n 1\n")
    assert project.ralph("run", "-p", "Do it.", "-m", "1").returncode == 1, (
        "ralph's own line is no claim either"
    )
    assert DONE in project.prompt(1)


def test_a_prompt_without_the_tag_ends_too(project: Project) -> None:
    project.agent([{"touch": "made"}, {"say": "Fixed."}], [{"say": DONE}])

    ran = project.ralph("run", "Fix the tests", "--agent", "claude", "--guardrail", "test -f made", check=0)

    line = f"When everything is done and checked, output {DONE}."
    assert project.prompt(1) == f"Fix the tests\n\n{line}"
    assert f"added to the prompt: {line}" in ran.stderr
    assert "every check passes, but the agent did not say DONE" in ran.stderr
    assert "all checks pass" in project.prompt(2)
    assert project.prompt(2).endswith(f"If nothing is left, output {DONE}; otherwise continue.")
    project.settings(completionHint=False)
    ran = project.ralph("run", "Fix the tests", "--agent", "claude", "-m", "1")
    assert project.prompt(1) == "Fix the tests"
    assert "the prompt does not name the completion tag" in ran.stderr


def test_a_promise_on_the_last_allowed_iteration_is_a_success(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": "not yet"}], [{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "-m", "2", check=0)


def test_the_prompt_file_is_read_anew_for_every_iteration(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    (project.root / "PROMPT.md").write_text(f"first {DONE}")
    project.agent([{"run": f"printf 'second {DONE}' > PROMPT.md"}, {"say": "hm"}], [{"say": DONE}])

    project.ralph("run", "-f", "PROMPT.md", check=0)

    assert (project.prompt(1), project.prompt(2)) == (f"first {DONE}", f"second {DONE}")


def test_the_iteration_count_stands_above_prepended_feedback(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        includeIterationCountInPrompt=True,
        guardrails=[{"command": "false", "failAction": "PREPEND"}],
    )
    project.agent([{"say": DONE}])

    project.ralph("run", "-p", "base", "-m", "2", "--no-completion-hint", check=1)

    assert project.prompt(1) == "Iteration 1 of 2, 1 remaining.\n\nbase"
    assert project.prompt(2).startswith('Iteration 2 of 2, 0 remaining.\n\nGuardrail "false" failed')
    assert project.prompt(2).endswith("\n\nbase")


def test_several_failures_combine_in_order_and_logs_keep_everything(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        outputTruncateChars=5,
        guardrails=[
            {"command": "echo onetwothree; exit 3", "failAction": "APPEND"},
            {"command": "true"},
            {"command": "echo out; echo err >&2; exit 4", "failAction": "append"},
            {"command": "echo no; false", "failAction": "PREPEND"},
        ],
    )
    project.agent([{"say": DONE}])

    ran = project.ralph("run", "-p", "base", "-m", "2", "--no-completion-hint", check=1)

    first, base, second, third = project.prompt(2).split("\n\n")
    assert first.startswith('Guardrail "echo no; false" failed with exit code 1.')
    assert base == "base"
    assert second.endswith("Output (truncated):\non\n... [truncated]\nree")
    assert third.endswith("Output (truncated):\nou\n... [truncated]\nerr")
    log = project.root / ".ralph" / "guardrail_001_echo_onetwothree_exit_3.log"
    assert log.read_text() == "onetwothree\n"
    assert "(APPEND)" in ran.stderr
    assert "onetwothree" in ran.stderr, "why it failed is on the screen"
    assert "exit 4" in ran.stderr


def test_replace_takes_the_place_of_the_prompt(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "false", "failAction": "REPLACE"}])
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", "base", "-m", "2", check=1)
    assert "base" not in project.prompt(2)


def test_duplicate_guardrails_have_a_log_each(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}, {"command": "true"}])
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=0)
    logs = sorted(path.name for path in (project.root / ".ralph").glob("guardrail_*_true*"))
    assert logs == ["guardrail_001_true.log", "guardrail_001_true_1.log"]


def test_a_guardrail_that_hangs_or_cannot_start_has_failed(project: Project) -> None:
    project.settings(
        agent={"command": "claude"},
        guardrails=[{"command": "sleep 60", "timeout": 0.3}, {"command": "no-such-program"}],
    )
    project.agent([{"say": DONE}])

    project.ralph("run", "-p", "base", "-m", "2", check=1)

    prompt = project.prompt(2)
    assert 'Guardrail "sleep 60" failed with exit code 124.' in prompt
    assert 'Guardrail "no-such-program" failed with exit code 127.' in prompt


def test_a_guardrail_whose_tests_did_not_run_has_failed_unless_that_is_allowed(project: Project) -> None:
    guardrail = {"command": "printf 'Ran 0 tests in 0.000s\\n\\nOK\\n'"}
    project.settings(agent={"command": "claude"}, guardrails=[guardrail])
    project.agent([{"say": DONE}])

    ran = project.ralph("run", "-p", "base", "-m", "2", check=1)

    assert "unittest ran no test" in ran.stderr + ran.stdout
    assert "failed with exit code 0." in project.prompt(2)
    assert "[ralph] unittest ran no test" in project.prompt(2)
    project.settings(agent={"command": "claude"}, guardrails=[{**guardrail, "allowEmpty": True}])
    project.ralph("run", "-p", "base", "-m", "2", check=0)


def test_a_green_iteration_is_committed_with_the_agents_message(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(
        agent={"command": "claude"},
        guardrails=[{"command": "test -f b.txt"}],
        scm={"command": "git", "tasks": ["commit", "tag done"]},
    )
    project.agent(
        [{"write": {"path": "a.txt", "content": "a"}}, {"say": "half"}],
        [{"write": {"path": "b.txt", "content": "b"}}, {"say": DONE}],
        commits=["<response>Add both files</response>"],
    )

    project.ralph("run", "-p", PROMPT, check=0)

    assert project.git("log", "--format=%s").splitlines() == ["Add both files"]
    assert project.git("show", "--name-only", "--format=").split() == ["a.txt", "b.txt"]
    assert project.git("tag").split() == ["done"]


def test_nothing_to_commit_is_no_error_and_costs_no_call(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "claude"}, scm={"command": "git", "tasks": ["commit"]})
    project.agent([{"say": DONE}])
    ran = project.ralph("run", "-p", PROMPT, check=0)
    assert "nothing to commit" in ran.stderr
    assert not list((project.root / ".ralph" / "runs").glob("*/prompt_*_commit.txt"))


def test_what_a_commit_message_cost_is_unknown_not_nothing(project: Project) -> None:
    project.git("init", "-q")
    project.git("config", "user.name", "t")
    project.git("config", "user.email", "t@example.invalid")
    project.settings(agent={"command": "claude"}, scm={"command": "git", "tasks": ["commit"]})
    project.agent([{"touch": "new"}, {"say": DONE}], commits=["Add it"])

    assert "at least $" in project.ralph("run", "-p", PROMPT, check=0).stderr

    ((state,),) = project.rows("SELECT state FROM runs")
    assert json.loads(state)["spend"]["is_partly_unknown"] is True


def test_no_commit_message_aborts_the_scm_tasks_with_an_error(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "mute"}, scm={"command": "git", "tasks": ["commit", "tag never"]})
    project.agent([{"touch": "new"}, {"say": DONE}], name="mute", commits=["   "])

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert "Completed, with 1 warning" in ran.stderr
    assert "no commit message" in ran.stderr
    assert project.git("tag") == ""


def test_a_rejected_commit_is_told_to_the_agent(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    hook = project.root / ".git" / "hooks" / "pre-commit"
    hook.write_text("#!/bin/sh\n[ -f fixed ] || { echo 'no debug prints please'; exit 1; }\n")
    hook.chmod(0o755)
    project.settings(agent={"command": "claude"}, scm={"command": "git", "tasks": ["commit"]})
    project.agent([{"touch": "new"}, {"say": DONE}], [{"touch": "fixed"}, {"say": DONE}], commits=["Add it"])

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert "no debug prints please" in project.prompt(2)
    assert "the agent said DONE, but still failing: git commit" in ran.stderr
    assert project.git("log", "--format=%s").splitlines() == ["Add it"]


def test_what_was_there_before_is_not_committed_and_the_user_is_told(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "claude"}, scm={"command": "git", "tasks": ["commit"]})
    project.git("add", ".")
    project.git("commit", "-q", "-m", "settings")
    (project.root / ".env").write_text("SECRET=1")
    project.agent(
        [
            {"write": {"path": "new file.txt", "content": "x"}},
            {"run": "sed -i 's/claude/claudia/' .ralph/settings.json"},
            {"say": DONE},
        ],
        commits=["Add a file"],
    )

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert "will not be committed: .env" in ran.stderr
    assert project.git("show", "--name-only", "--format=").splitlines() == ["new file.txt"]
    assert project.git("status", "--porcelain").splitlines() == [
        " M .ralph/settings.json",
        "?? .env",
    ]


def test_git_without_an_identity_is_told_before_anything_is_spent(project: Project) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "claude"}, scm={"command": "git", "tasks": ["commit"]})
    project.agent([{"touch": "ran"}, {"say": DONE}])
    project.environment.update(
        dict.fromkeys(
            ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"), ""
        )
    )
    ran = project.ralph("run", "-p", PROMPT, check=2)
    assert "git cannot commit" in ran.stderr
    assert not (project.root / "ran").exists()


def test_an_scm_command_that_hangs_is_ended(project: Project) -> None:
    project.program("slowscm", "exec sleep 60\n")
    project.settings(
        agent={"command": "claude"}, scm={"command": "slowscm", "tasks": ["push"], "timeout": 0.3}
    )
    project.agent([{"say": DONE}])
    ran = project.ralph("run", "-p", PROMPT, check=0)
    assert "Completed, with 1 warning" in ran.stderr
    assert "longer than 0.3 s" in ran.stderr


def test_a_guardrail_that_goes_silent_has_failed(project: Project) -> None:
    project.settings(
        agent={"command": "claude"}, guardrails=[{"command": "sleep 60"}], guardrailIdleTimeout=0.3
    )
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "-m", "2", check=1)
    assert "it printed nothing for 0.3 s" in project.prompt(2)


def test_guardrails_and_prompt_can_be_given_without_any_settings(project: Project) -> None:
    project.agent([{"say": DONE}], [{"touch": "made"}, {"say": DONE}])
    ran = project.ralph(
        "run", "-f", "-", "--agent", "claude", "--guardrail", "test -f made", check=0, stdin=PROMPT
    )
    assert "the agent said DONE, but still failing: test -f made" in ran.stderr
    assert project.prompt(1) == PROMPT


@pytest.mark.parametrize(
    "command", ["printf hello; false", "echo hello; false", "printf 'hello\\n\\n'; false"]
)
def test_output_that_fits_is_not_marked_as_cut(project: Project, command: str) -> None:
    project.settings(agent={"command": "claude"}, outputTruncateChars=5, guardrails=[{"command": command}])
    project.agent([{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "-m", "2", check=1)
    assert project.prompt(2).endswith("Output:\nhello")


def test_in_a_worktree_the_log_is_named_where_it_is(project: Project, tmp_path: Path) -> None:
    project.git("init", "-q", "-b", "main")
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "echo bad; false"}])
    project.git("add", ".")
    project.git("commit", "-q", "-m", "settings")
    tree = tmp_path / "tree"
    project.git("worktree", "add", "-q", str(tree))
    project.agent([{"say": DONE}])

    told = project.ralph("run", "-p", "base", "-m", "2", check=1, cwd=tree).stderr

    assert f"this is a worktree: settings, tasks and the record are those of {project.root}" in told
    named = project.prompt(2).split("Output file: ")[1].splitlines()[0]
    assert (tree / named).read_text() == "bad\n"


def test_a_secret_in_prompt_or_flags_reaches_no_screen_and_no_record(project: Project) -> None:
    secret = "sk-very-secret-value-123456"
    project.settings(agent={"command": "claude", "flags": [f"--api-key {secret}"]})
    project.agent([{"say": DONE}])
    ran = project.ralph("run", "-V", "--json", "-p", f"use {secret} {DONE}", check=0, MY_TOKEN=secret)
    assert secret not in ran.stdout + ran.stderr
    for name in ("ralph.db", "ralph.db-wal"):
        file = project.root / ".ralph" / name
        assert not file.exists() or secret.encode() not in file.read_bytes()


@pytest.mark.parametrize(
    "echo",
    [
        pytest.param("fold -s -w 30", id="re-wrapped"),
        pytest.param("sed '1s/^/User: /'", id="behind a word"),
        pytest.param("sed 's/^/> /'", id="quoted"),
        pytest.param("cat >/dev/null; cat PROMPT.md", id="from its file, without the feedback"),
    ],
)
def test_a_plain_agent_that_repeats_its_prompt_in_any_way_is_not_believed(
    project: Project, echo: str
) -> None:
    prompt = f"Please do all of the work that is listed in the file, and when\nit is done then output {DONE}."
    (project.root / "PROMPT.md").write_text(prompt)
    project.settings(
        agent={"command": "parrot"}, guardrails=[{"command": "test -f seen || { touch seen; false; }"}]
    )
    project.program("parrot", f"{echo}\necho; echo 'I could not do it.'\n")
    project.ralph("run", "-f", "PROMPT.md", "-m", "3", check=1)


def test_local_settings_environment_and_flags_override_in_this_order(project: Project) -> None:
    project.settings(agent={"command": "claude"}, maximumIterations=7, completionResponse="A")
    project.settings("settings.local.json", maximumIterations=6, completionResponse="B")
    project.agent([{"say": "<response>C</response>"}])

    ran = project.ralph(
        "run", "-p", "x", "--json", check=0, RALPH_COMPLETION_RESPONSE="C", RALPH_MAXIMUM_ITERATIONS="5"
    )
    started = json.loads(ran.stdout.splitlines()[0])
    assert started["maximum"] == 5

    ran = project.ralph(
        "run", "-p", "x", "-m", "4", "-c", "D", "--json", check=1, RALPH_COMPLETION_RESPONSE="C"
    )
    assert json.loads(ran.stdout.splitlines()[0])["maximum"] == 4


def test_json_lines_tell_the_whole_run(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    project.agent([{"run": "echo hi"}, {"say": DONE}])

    ran = project.ralph("run", "-p", PROMPT, "--json", check=0)

    events = [json.loads(line) for line in ran.stdout.splitlines()]
    kinds = [event["type"] for event in events if event["type"] != "agent_acted"]
    assert kinds == [
        "run_started",
        *("check_started", "check_ended"),  # nothing can be planted here, and that is told
        "iteration_started",
        "agent_started",
        "agent_ended",
        *("check_started", "check_ended") * 5,  # the guardrail, and the layers of proof
        "claims_sought",
        "iteration_ended",
        "run_ended",
    ]
    assert events[0]["sandbox"] == ["no sandbox: the agent can do whatever you can; --sandbox confines it"]
    assert (events[-1]["outcome"], events[-1]["denied"], events[-1]["tree"]) == ("completed", 0, None)
    stored = [kind for (kind,) in project.rows("SELECT kind FROM events ORDER BY seq")]
    assert [kind for kind in stored if kind != "agent_acted"] == kinds


def test_dry_run_prints_everything_and_runs_nothing(project: Project) -> None:
    project.settings(
        agent={"command": "claude", "flags": ["--model opus"]}, guardrails=[{"command": "make test"}]
    )
    project.agent([{"touch": "ran"}])

    ran = project.ralph("run", "-p", "the prompt", "--dry-run", check=0)

    assert "claude -p --model opus --output-format stream-json" in ran.stdout
    assert "make test" in ran.stdout
    assert "Proof:       guarded, tests reviewed\n" in ran.stdout
    assert "Sandbox:     none: the agent can do whatever you can; --sandbox confines it\n" in ran.stdout
    assert ran.stdout.endswith(f"the prompt\n\nWhen everything is done and checked, output {DONE}.\n")
    assert not (project.root / "ran").exists()
    assert not (project.root / ".ralph" / "ralph.db").exists()


def test_what_cannot_work_is_told_before_a_session_is_paid(project: Project) -> None:
    project.settings(guardrails=["no-such-runner -q", "own-runner", "true"])
    project.program("talker", f"echo '{DONE}'\n")
    own = project.root / ".venv" / "bin" / "own-runner"
    own.parent.mkdir(parents=True)
    own.touch()

    ran = project.ralph("run", "Do it", "--agent", "talker", "--max-cost", "1", "--dry-run", check=0)

    assert (
        "`no-such-runner -q` cannot pass: there is no program no-such-runner on the PATH; check how"
        in ran.stdout
    )
    assert "it is in .venv/bin: write .venv/bin/own-runner" in ran.stdout
    assert "talker (plain) reports neither cost nor tokens: --max-cost cannot be held" in ran.stdout
    assert "program true" not in ran.stdout


def test_verbose_lines_have_their_documented_form(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    project.agent([{"say": DONE}])

    ran = project.ralph("run", "-V", "-p", PROMPT, check=0)

    lines = ran.stderr.splitlines()
    assert "[ralph] Loading settings from .ralph/settings.json" in lines
    assert "[ralph] Iteration 1/10 starting" in lines
    assert "[ralph] Running guardrail: true" in lines
    assert any(line.startswith("[ralph] Agent command: claude -p ") for line in lines)
    assert any(line.startswith("[ralph] Guardrail exited with code 0 (") for line in lines)


def test_run_is_the_default_command(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}])
    project.ralph("-p", PROMPT, check=0)


def test_without_streaming_the_agents_words_stay_off_the_console(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": f"chatter {DONE}"}])
    ran = project.ralph("run", "-p", PROMPT, "--no-stream-agent-output", check=0)
    assert "chatter" not in ran.stdout + ran.stderr


def test_another_agent_does_not_get_the_flags_meant_for_the_first(project: Project) -> None:
    project.settings(agent={"command": "claude", "flags": ["--model opus"]})
    project.agent([{"say": DONE}], name="codex")
    ran = project.ralph(
        "run", "-p", PROMPT, "--agent", "codex", "--agent-flag", "-m gpt", "--dry-run", check=0
    )
    assert "codex e --json --dangerously-bypass-approvals-and-sandbox -m gpt -" in ran.stdout
    assert "opus" not in ran.stdout


@pytest.mark.parametrize("command", ["run", "supervise", "work", "plan run --no-sandbox"])
def test_another_agent_does_not_get_the_model_either_unless_it_is_named(
    project: Project, command: str
) -> None:
    """amp takes no model at all and would be refused."""
    agent = {"command": "claude", "model": "opus", "maxTurns": 9, "continueSession": True}
    project.settings(agent=agent, limits={"maxAttempts": 1})
    project.git("init", "-q", "-b", "main")
    project.git("commit", "-q", "--allow-empty", "-m", "start")
    words = command.split()
    if words[0] in ("run", "supervise"):
        words += ["-p", PROMPT]
    elif words[0] == "plan":
        project.ralph("plan", "new", "--name", "x", check=0)
        (project.root / "ralph" / "tasks.json").write_text(json.dumps(tasks_json()))
        project.git("add", "-A")
        project.git("commit", "-q", "-m", "plan")
    else:
        project.ralph("task", "create", "T-1", "s", "x", "--outcome", "x", "--acceptance", "y", check=0)
    for name in ("amp", "codex"):
        arguments = project.programs / f"{name}.arguments"
        project.program(name, f'cat > /dev/null; echo "$@" > "{arguments}"; exit 9\n')
    project.ralph(*words, "--agent", "amp", "-n" if "plan" in words else "-m", "1")
    project.ralph(*words, "--agent", "codex", "--model", "gpt", "-n" if "plan" in words else "-m", "1")
    assert "opus" not in (project.programs / "amp.arguments").read_text()
    assert "--model=gpt" in (project.programs / "codex.arguments").read_text()


def test_a_relative_agent_resolves_from_the_project_root(project: Project) -> None:
    agent = project.root / "tools" / "agent.sh"
    agent.parent.mkdir()
    agent.write_text(f"#!/bin/sh\ncat >/dev/null\necho '{DONE}'\n")
    agent.chmod(0o755)
    project.settings(agent={"command": "./tools/agent.sh"})
    below = project.root / "deep"
    below.mkdir()
    project.ralph("run", "-p", PROMPT, check=0, cwd=below)


def test_a_session_that_goes_silent_is_ended_and_the_next_one_is_told(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"say": DONE}, {"sleep": 60}], [{"say": DONE}])

    project.ralph("run", "-p", PROMPT, "--idle-timeout", "0.5", check=0)

    assert "it printed nothing for too long" in project.prompt(2)


def test_a_session_that_takes_too_long_is_ended(project: Project) -> None:
    project.settings(agent={"command": "claude"})
    project.agent([{"sleep": 60}], [{"say": DONE}])
    project.ralph("run", "-p", PROMPT, "--agent-timeout", "0.5", check=0)
    assert "it ran out of time" in project.prompt(2)


def test_what_an_agent_leaves_running_is_ended_and_named(project: Project, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    project.settings(agent={"command": "claude"})
    left = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 300' >/dev/null 2>&1 & while [ ! -s {pid_file} ]; do :; done"
    project.agent([{"run": left}, {"say": DONE}])

    ran = project.ralph("run", "-p", PROMPT, check=0)

    assert "sleep 300" in ran.stderr
    assert not Path(f"/proc/{pid_file.read_text().strip()}").exists()


def test_secrets_of_the_environment_reach_no_log(project: Project) -> None:
    secret = "sk-very-secret-value-123456"
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "echo $MY_API_KEY; false"}])
    project.agent([{"run": "echo $MY_API_KEY"}, {"say": f"the key is {secret}"}])

    ran = project.ralph("run", "-V", "-p", "x", "-m", "2", check=1, MY_API_KEY=secret)

    assert secret not in ran.stdout + ran.stderr
    for file in (project.root / ".ralph").rglob("*"):
        if file.is_file():
            assert secret.encode() not in file.read_bytes(), file


def test_the_agents_environment_is_cleaned_of_an_outer_agents(project: Project) -> None:
    project.settings(agent={"command": "claude", "environment": {"FROM_SETTINGS": "yes"}})
    project.agent([{"run": "env > seen.txt"}, {"say": DONE}])
    project.ralph("run", "-p", PROMPT, check=0, CLAUDECODE="1", KEEP_ME="1")
    seen = (project.root / "seen.txt").read_text()
    assert "CLAUDECODE" not in seen
    assert "KEEP_ME=1" in seen
    assert "FROM_SETTINGS=yes" in seen
    assert "RALPH_ITERATION=1" in seen


def test_a_second_run_points_the_links_at_its_own_files(project: Project) -> None:
    project.settings(agent={"command": "claude"}, guardrails=[{"command": "true"}])
    project.agent([{"say": "no"}], [{"say": DONE}], [{"say": DONE}])
    project.ralph("run", "-p", "first", check=0)
    project.ralph("run", "-p", "second", check=0)
    assert project.prompt(1).startswith("second")
    assert not (project.root / ".ralph" / "prompt_002.txt").exists()
    assert len(list((project.root / ".ralph" / "runs").iterdir())) == 2


def test_a_large_prompt_reaches_the_agent_whole(project: Project) -> None:
    project.settings(agent={"command": "counter"})
    project.program("counter", f"wc -c; echo '{DONE}'\n")
    (project.root / "PROMPT.md").write_text(DONE.ljust(2_000_000, "x"))
    ran = project.ralph("run", "-f", "PROMPT.md", check=0)
    assert "2000000" in ran.stdout
