"""``ralph run``: the same prompt again and again, until the agent says DONE and the guardrails pass."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.agent_names import named_agents
from ralph.errors import UsageError
from ralph.interfaces.cli.options import (
    Amount,
    agent_flag_option,
    agent_flags_of,
    agent_option,
    agent_timeout_option,
    apart_options,
    deliver_option,
    events_option,
    given_prompt,
    given_settings,
    guardrail_option,
    isolation_option,
    iteration_option,
    limit_options,
    load_with,
    model_option,
    notify_option,
    project_dir_option,
    prompt_argument,
    prompt_of_words,
    prompt_options,
    proof_option,
    sandbox_options,
    setting_option,
    sources_of,
    trust_option,
    verbose_option,
)

if TYPE_CHECKING:
    from ralph.config.loading import Loaded
    from ralph.operations.runs.start import Preview


HELP = """Run the agent again and again until it says DONE and all guardrails pass.

The prompt is PROMPT, the same with -p, or a file, which is read again for every iteration. The agent says that it is
done with <response>DONE</response>, and ralph believes it only if every guardrail passes; a prompt that does not name this
tag gets a line that does. The output of a guardrail that fails goes into the next prompt.

Exit codes: 0 completed · 1 limit reached · 2 usage or settings · 3 internal error · 4 the agent cannot run · 5
waiting for something outside · 130 interrupted

\b
Examples:
  ralph run "Fix the failing tests" --guardrail "pytest -q"
  ralph run -f PROMPT.md -m 20 --agent codex
  ralph run -f PROMPT.md --agent claude --model opus
  ralph run -f PROMPT.md --dry-run
"""


@click.command("run", help=HELP)
@prompt_argument
@prompt_options("iteration")
@iteration_option("Stop after N iterations.  [default: 10]")
@click.option(
    "-c", "--completion-response", metavar="TEXT", help="Completion response text.  [default: DONE]"
)
@click.option(
    "--completion-promise",
    metavar="TEXT",
    help="What the promise must say (profile promise).  [default: DONE]",
)
@setting_option(
    "completionHint",
    "--no-completion-hint",
    is_flag=True,
    means=lambda _: False,
    help="Add no line about the completion tag to a prompt that does not name it.",
)
@click.option(
    "--stream-agent-output/--no-stream-agent-output",
    default=None,
    help="Stream agent output to the console.  [default: stream]",
)
@trust_option
@verbose_option
@agent_option(
    f"Agent to run: {', '.join(named_agents())}, one that speaks ACP such as goose, one defined in the settings, or"
    " any other command. Separate fallbacks by commas."
)
@model_option()
@isolation_option
@agent_flag_option
@agent_timeout_option("End a session that takes longer.  [default: none]")
@setting_option(
    "agent.continueSession",
    "--continue-session",
    is_flag=True,
    help="Continue the previous session instead of starting a fresh one for each iteration, if the agent can.",
)
@click.option(
    "--idle-timeout",
    type=float,
    metavar="SECONDS",
    help="End a session that prints nothing for SECONDS seconds; 0: never.  [default: 1800]",
)
@guardrail_option("Another command that must pass after every session")
@proof_option
@deliver_option
@limit_options
@notify_option
@setting_option(
    "guardrailTimeout",
    "--guardrail-timeout",
    type=Amount(),
    metavar="SECONDS",
    help="A guardrail that takes longer has failed.  [default: none]",
)
@sandbox_options
@click.option(
    "--profile",
    metavar="NAME",
    default="basic",
    show_default=True,
    help="Kind of loop: basic or promise; other kinds have their own commands.",
)
@project_dir_option
@click.option("--dry-run", is_flag=True, help="Print what would run, prompt included, and run nothing.")
@apart_options
@events_option
def command(
    words: tuple[str, ...],
    prompt: str | None,
    prompt_file: Path | None,
    max_iterations: int | None,
    completion_response: str | None,
    completion_promise: str | None,
    stream_agent_output: bool | None,
    verbose: bool,
    agent: str | None,
    agent_flags: tuple[str, ...],
    idle_timeout: float | None,
    guardrails: tuple[str, ...],
    profile: str,
    project_dir: Path | None,
    dry_run: bool,
    as_json: bool,
) -> int:
    # Imported here: `ralph --help` must not pay for what only a run needs.
    from ralph.config.root import find_root
    from ralph.interfaces.cli.plain_asyncio import import_asyncio
    from ralph.interfaces.cli.trust_question import untrusted
    from ralph.operations.runs.start import prepare_prompt_run, require_prompt_profile

    import_asyncio()
    require_prompt_profile(profile)
    given = given_prompt(prompt_of_words(words, prompt, prompt_file), prompt_file)
    if given is None:
        message = "a prompt is needed: what should the agent do?"
        raise UsageError(
            message, hint='for example: ralph run "Fix the failing tests", or ralph run -f PROMPT.md'
        )
    if idle_timeout is not None and not 0 <= idle_timeout < float("inf"):
        message = "--idle-timeout must not be negative"
        raise UsageError(message, hint="give seconds, or 0 to wait forever")
    if completion_promise is not None and profile == "basic":
        message = "--completion-promise is not for profile basic"
        raise UsageError(message, hint="use -c/--completion-response, or --profile promise")
    if completion_response is not None and profile != "basic":
        message = f"--completion-response is for profile basic, not for {profile}"
        raise UsageError(message, hint="use --completion-promise")
    root = find_root(Path.cwd(), project_dir)
    # `basic` has its settings at the top, the other profiles have a section each.
    of_profile = "" if profile == "basic" else f"profiles.{profile}."
    flags = given_settings()
    chosen: list[tuple[str, object, str]] = [
        (f"{of_profile}maximumIterations", max_iterations, "--max-iterations"),
        ("completionResponse", completion_response, "--completion-response"),
        (f"profiles.{profile}.completionPromise", completion_promise, "--completion-promise"),
        ("streamAgentOutput", stream_agent_output, "--stream-agent-output"),
        ("agent.idleTimeout", idle_timeout, "--idle-timeout"),
    ]
    flags += [(tuple(key.split(".")), value, flag) for key, value, flag in chosen if value is not None]
    sources = sources_of(root.state)
    added = agent_flags_of(sources, agent, agent_flags, guardrails)
    loaded = load_with(sources, [*added, *flags])
    if verbose:
        _say_settings(loaded)
    launch = prepare_prompt_run(loaded, root, given, profile=profile)
    if dry_run:
        from ralph.operations.runs.start import preview_run

        asks = untrusted(launch)
        _show(preview_run(launch), is_trusted=asks is None)
        return 0

    from ralph.interfaces.cli.console_run import run_on_console
    from ralph.interfaces.cli.exit_codes import exit_code_of

    return exit_code_of(run_on_console(launch, verbose=verbose, json_lines=as_json).outcome)


def _say_settings(loaded: Loaded) -> None:
    import json

    from ralph.domain.text.masking import mask_values

    for file in loaded.files:
        print(f"[ralph] Loading settings from {file}", file=sys.stderr)
    print(f"[ralph] Settings: {json.dumps(mask_values(loaded.merged.values))}", file=sys.stderr)


def _show(preview: Preview, *, is_trusted: bool) -> None:
    """``--dry-run``: everything that would happen in the first iteration, as text."""
    from ralph.domain.text.safe_text import clean, is_harmless, reveal
    from ralph.interfaces.cli.folding import print_folded

    lines = [
        f"Project:     {preview.workspace}",
        *(
            []
            if is_trusted
            else ["Trust:       not yet: ralph asks first; `ralph trust --show` says what about"]
        ),
        f"Profile:     {preview.profile}",
        f"Iterations:  at most {preview.maximum}",
        f"Completion:  {preview.completion}",
        f"Agent:       {preview.agent}",
        f"Command:     {preview.command}",
        f"Stdin:       {'the prompt' if preview.gets_prompt_on_stdin else 'nothing'}",
        *(f"Note:        {note}" for note in preview.notes),
        *(f"Guardrail:   {command} (on failure: {action})" for command, action in preview.guardrails),
        *([f"Proof:       {preview.proof}"] if preview.proof else ()),
        f"Sandbox:     {preview.sandbox.removeprefix('sandbox ').replace('no sandbox', 'none', 1)}",
        *(f"Warning:     {warning}" for warning in preview.warnings),
        *(f"SCM:         {command}" for command in preview.scm),
        f"Prompt ({len(preview.prompt)} characters):",
    ]
    shown = (line if is_harmless(line) else reveal(line) for line in lines)
    print_folded("\n".join((*shown, clean(preview.prompt))))
