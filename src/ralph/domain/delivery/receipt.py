"""The receipt in a pull request: what was claimed, what proved it on which commit, and what it cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ralph.domain.text.figures import money, whole_duration
from ralph.values import dataclass, field

BEGIN, END = "<!-- ralph:receipt -->", "<!-- /ralph:receipt -->"
LONGEST_COMMAND = 500


@dataclass(frozen=True, slots=True)
class Proof:
    """One command that was run on the commit to be delivered."""

    command: str
    exit_code: int | None = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """``cost_usd`` None: the agent does not say. ``flaky``: checks that passed and failed on one commit."""

    commit: str = ""
    claim: str = ""
    proofs: tuple[Proof, ...] = ()
    sessions: int = 0
    denied: int = 0
    cost_usd: float | None = None
    tokens: int = 0
    seconds: float = 0.0
    fixes: int = 0
    flaky: tuple[str, ...] = ()
    run_id: str = ""
    caveats: tuple[str, ...] = field(default=())


def receipt_section(receipt: Receipt) -> str:
    """As Markdown, between marks by which it is found again: a person may edit everything around it."""
    lines = ["### Proof", ""]
    if receipt.proofs:
        lines += [
            f"ralph ran these commands on `{receipt.commit[:12]}`:",
            "",
            *_fenced(tuple(dict.fromkeys(receipt.proofs))),
            "",
        ]
    else:
        lines += ["No command was run to prove this work: no guardrails are configured.", ""]
    lines += [f"- {line}" for line in _facts(receipt)]
    return "\n".join((BEGIN, *lines, END))


def _facts(receipt: Receipt) -> Iterable[str]:
    if receipt.claim:
        yield f"Accepted: {receipt.claim}"
    if receipt.sessions:
        denied = f"; {receipt.denied} claims were denied" if receipt.denied != 1 else "; 1 claim was denied"
        sessions = "1 session" if receipt.sessions == 1 else f"{receipt.sessions} sessions"
        cost = "cost unknown" if receipt.cost_usd is None else money(receipt.cost_usd)
        tokens = f", {receipt.tokens:,} tokens" if receipt.tokens else ""
        yield f"{sessions}, {whole_duration(receipt.seconds)}, {cost}{tokens}{denied}"
    if receipt.fixes:
        yield f"Fixed {'once' if receipt.fixes == 1 else f'{receipt.fixes} times'} after it was opened"
    if receipt.flaky:
        yield f"Flaky (passed and failed on one commit): {', '.join(receipt.flaky)}"
    yield from receipt.caveats
    if receipt.run_id:
        yield f"Run {receipt.run_id}"


def _fenced(proofs: Sequence[Proof]) -> list[str]:
    """A fence that no command can close."""
    commands = [" ".join(proof.command.split())[:LONGEST_COMMAND] for proof in proofs]
    ticks = max((len(run) for command in commands for run in _runs(command)), default=0)
    fence = "`" * max(3, ticks + 1)
    lines = (
        f"{command}  →  exit code {'unknown' if proof.exit_code is None else proof.exit_code}"
        for command, proof in zip(commands, proofs, strict=True)
    )
    return [f"{fence}text", *lines, fence]


def _runs(text: str) -> Iterable[str]:
    return (part for part in "".join(each if each == "`" else " " for each in text).split() if part)


def with_receipt(body: str, section: str) -> str:
    """``body`` with its receipt replaced, or added at its end."""
    before, begin, rest = body.partition(BEGIN)
    if not begin:
        return f"{body.rstrip()}\n\n{section}\n".lstrip()
    _, end, after = rest.partition(END)
    return f"{before}{section}{after}" if end else f"{before}{section}\n"


def receipt_of(record: Mapping[str, Any]) -> Receipt:
    """From the stored receipt of a run (``domain/views/receipt``). Never raises on one of another version."""
    iterations = [each for each in record.get("iterations") or () if isinstance(each, Mapping)]
    accepted = next((each for each in reversed(iterations) if each.get("decision") == "accept"), {})
    checks = [check for check in accepted.get("checks") or () if isinstance(check, Mapping)]
    spends = [each.get("spend") or {} for each in iterations]
    costs = [spend.get("cost_usd") for spend in spends]
    known = [cost for cost in costs if isinstance(cost, int | float)]
    return Receipt(
        commit=str(accepted.get("commit") or ""),
        claim=str(accepted.get("reason") or ""),
        proofs=tuple(
            Proof(str(check["command"]), check.get("exit_code"))
            for check in checks
            if check.get("command") and check.get("verdict") == "passed"
        ),
        sessions=len(iterations),
        denied=sum(
            bool(each.get("claimed")) and each.get("decision") not in ("accept", "retry")
            for each in iterations
        ),
        cost_usd=sum(known) if known else None,
        seconds=sum(float(each.get("seconds") or 0.0) for each in iterations),
        run_id=str(record.get("run") or ""),
        caveats=tuple(filter(None, (str(record.get("caveat") or ""),))),
    )
