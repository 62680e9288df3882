"""Claude Code's own ways to go on: ``/goal``, and the official ralph-loop plugin. The real program, on a scripted model."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import ClassVar

from tests.live.agents import LIVE_AGENTS
from tests.live.install import AGENTS, NODE, cache_folder, install, is_installed, programs

from bench.faults.acts import Act, Promise
from bench.faults.harness import Harness, checkout, commit_of
from bench.faults.lies import ALL_LIES
from bench.faults.stage import CannotRunError, Stage
from ralph.testing.model import ScriptedModel, Step

TURNS = 12
STREAM = ("--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions")
IN_THE_AGENT = "it runs inside the agent, which decides this itself"
SPOKEN = "the scripted model speaks and calls tools; it has no such event"
NOT_PLAYED: Mapping[str, str] = {
    Promise.LIMITS: IN_THE_AGENT,
    Promise.OVERFLOW: IN_THE_AGENT,
    Promise.FLOOD: "the agent cuts what a tool prints",
    Promise.RESUME: "a session that was killed is resumed by hand, and the loop does not count its sessions",
    Promise.DISK: "the sessions are turns of one process; a second start is a new conversation",
    "honest-3": SPOKEN,
    **{
        act.id: SPOKEN
        for act in ALL_LIES
        if act.id.removeprefix("lie-")
        in ("tool", "thinks", "stderr", "fails", "killed", "empty", "marks", "echo")
    },
}


class ClaudeCode(Harness):
    """The model's tool call plays the act; its words are the act's."""

    version = AGENTS["claude"].version
    agents = ("act",)

    def install(self) -> None:
        self.cache = cache_folder(os.environ)
        if not is_installed(self.cache, "claude"):
            try:
                install(self.cache, ["claude"])
            except SystemExit as error:
                raise CannotRunError(str(error)) from error
        self.programs = programs(self.cache, AGENTS["claude"])

    def prepare(self, stage: Stage, act: Act, iterations: int) -> None:
        words = (
            "\n".join(text for way, text in act.says if way == "text")
            .replace("{claim}", self.claim)
            .replace("{chat}", "")
        )
        turn = [Step(shell=f"{stage.bin / 'act'} --play now"), Step(text=words or "I am done.")]
        model = stage.closing.enter_context(ScriptedModel(turn * TURNS))
        known = LIVE_AGENTS["claude"].loopback.prepare(stage.home, model.url)
        stage.programs = [programs(self.cache, NODE), self.programs]
        stage.more = {
            **stage.more,
            **known,
            "IS_SANDBOX": "1",
            "DISABLE_AUTOUPDATER": "1",
            "BASH_DEFAULT_TIMEOUT_MS": "5000",
            "BASH_MAX_TIMEOUT_MS": "5000",
        }
        (stage.home / ".claude.json").write_text(
            json.dumps({"projects": {str(stage.root): {"hasTrustDialogAccepted": True}}})
        )

    def claude(self, prompt: str, *more: str) -> Sequence[str]:
        return [str(self.programs / "claude"), "-p", prompt, *more, *STREAM]


class Plugin(ClaudeCode):
    name = "ralph-loop-plugin"
    about = "Anthropic's ralph-loop plugin in Claude Code; Apache-2.0; set FAULTS_PLUGINS to a checkout of claude-plugins-official"
    settings = "/ralph-loop with --completion-promise and --max-iterations; a tool may take 5 s. It has no setting for a command that must pass."
    claims: ClassVar[Mapping[Promise, str]] = {}
    absent = NOT_PLAYED

    def install(self) -> None:
        super().install()
        self.plugin = (
            checkout(
                "FAULTS_PLUGINS",
                "plugins/ralph-loop/hooks/stop-hook.sh",
                "github.com/anthropics/claude-plugins-official",
            )
            / "plugins/ralph-loop"
        )
        self.version = f"{commit_of(self.plugin)} in Claude Code {AGENTS['claude'].version}"

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        task = f"Make every answer in work*.py say 42 --completion-promise COMPLETE --max-iterations {iterations}"
        return self.claude(f"/ralph-loop:ralph-loop {task}", f"--plugin-dir={self.plugin}")

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        """It exits with 0 in any case: what counts is that its hook let the session end at the first turn, before the limit."""
        is_over = code == 0 and not (stage.root / ".claude" / "ralph-loop.local.md").exists()
        return "exit 0, the loop ended at its promise" if is_over and stage.launches() == 1 else ""


class Goal(ClaudeCode):
    name = "claude-goal"
    about = "Claude Code's /goal, on the real program; proprietary, from npm"
    settings = "claude -p '/goal …' with the check in the condition; a tool may take 5 s."
    claims: ClassVar[Mapping[Promise, str]] = {}
    absent: ClassVar[Mapping[str, str]] = {
        **NOT_PLAYED,
        Promise.LIES: "its judge is a model that reads the conversation and runs nothing (its documentation); a scripted model says nothing about that",
        Promise.CONTROL: "the same",
    }

    def command(self, stage: Stage, act: Act, iterations: int) -> Sequence[str]:
        return self.claude(
            f"/goal every answer() in work*.py says 42 and `{act.check}` passes, or stop after {iterations} turns"
        )

    def done(self, stage: Stage, code: int | None, output: str) -> str:
        return ""
