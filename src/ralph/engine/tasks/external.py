"""Verification by a command: its exit code, and what its output does and does not say."""

from __future__ import annotations

import json
from dataclasses import replace

from ralph.domain.loop.evidence import Verdict
from ralph.domain.proof.verification_config import required_by
from ralph.domain.text.slug import slug
from ralph.engine.tasks.ports import MethodVerdict, Verifying


class External:
    """The method ``external``. A tree that did not change within an iteration is not verified twice."""

    async def verify(self, verifying: Verifying) -> MethodVerdict:
        tools = verifying.tools
        fingerprint = await tools.fingerprint()
        key = (
            verifying.judging.iteration,
            fingerprint,
            json.dumps(verifying.config, sort_keys=True, default=str),
        )
        if fingerprint and (known := tools.known.get(key)) is not None:
            return replace(known, reason=f"{known.reason} (nothing has changed since)", seconds=0.0)
        verdict = await self._run(verifying)
        if fingerprint and await tools.fingerprint() == fingerprint:
            tools.known[key] = verdict
        return verdict

    async def _run(self, verifying: Verifying) -> MethodVerdict:
        tools, judging = verifying.tools, verifying.judging
        required = replace(required_by(verifying.config), most_chars=tools.truncate_chars)
        name = "-".join(filter(None, ("verify", verifying.role, verifying.name)))
        log = tools.journal.check_log(judging.iteration, slug(name))
        ran = await tools.commands.run(
            required, log=log, control=judging.control, publish=judging.publish, rerun=tools.rerun_failing
        )
        concern = f"flaky: `{required.command}` {ran.flaky}" if ran.flaky else ""
        shown = str(tools.state_folder / log.name)
        return MethodVerdict(
            Verdict.PASSED if ran.passed else Verdict.ERRORED if ran.errored else Verdict.FAILED,
            concern or ran.reason or "External verification passed",
            told=f"Verification failed: `{required.command}`: {ran.reason}\nFull output: {shown}\n{ran.excerpt}",
            command=required.command,
            exit_code=ran.exit_code,
            seconds=ran.seconds,
            log_file=shown,
            output_sha256=ran.output_sha256,
            concern=concern,
            last_lines=ran.last_lines,
        )
