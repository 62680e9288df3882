"""The report as Markdown, short enough for the body of a pull request or a step summary."""

from __future__ import annotations

import re

from ralph.domain.loop.evidence import CheckResult
from ralph.domain.proof.layer_names import check_words
from ralph.domain.review.finding import Finding
from ralph.domain.text.exits import exit_words
from ralph.domain.text.figures import compact, duration, money, plural
from ralph.domain.text.safe_text import clean, clean_line
from ralph.domain.views.changes import Changes
from ralph.domain.views.decisions import Tone, describe_iteration, describe_verdict
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.pull_request import LONGEST_REASON, PullRequestView, cut, describe_check, link_of
from ralph.domain.views.runs import caveat_of
from ralph.interfaces.report.content import ReportContent
from ralph.patterns import pattern

FILES_SHOWN = 30
ITERATIONS_SHOWN = 50
ASKED_CHARS = 2000
_SPECIAL = pattern(r"([\\`*_{}\[\]<>()#+!|~@-])")
_MARKS = {"passed": "✅", "failed": "❌", "errored": "⚠️", "skipped": "-"}
_TONES = {Tone.GOOD: "✅", Tone.OPEN: "⏳", Tone.QUIET: "-", Tone.WARNING: "⚠️", Tone.BAD: "❌"}
REASON_CHARS = 400
PULL_CHECKS_SHOWN = 50
DENIALS_SHOWN = 50
ASKED_LINES = 12
"""A longer prompt is folded: in a pull request the outcome matters more."""


def markdown_report(content: ReportContent) -> str:
    run = content.run
    facts = [f"iterations: {content.count}"]
    if run.cost_usd is not None:
        facts.append(money(run.cost_usd, at_least=run.cost_is_partial))
    if run.tokens:
        facts.append(f"{compact(run.tokens)} tokens")
    facts += [duration(content.elapsed), f"agent {run.agent_words}", f"profile {run.profile}"]
    if run.proof is not None:
        facts.append(f"proof {run.proof.words}")
    caveat = caveat_of(run)
    parts = [
        f"## ralph: {plain(content.headline)}",
        f"**{plain(str(content.label))}**" if str(content.label) else "",
        plain(run.reason),
        f"⚠️ {plain(caveat)}" if caveat else "",
        f"Run {code(run.id)}: {plain(', '.join(facts))}.",
        plain(content.hint),
        _concerns(content),
        _findings(content),
        _pull_requests(content),
        _parts(content),
        _asked(content),
        _checks(content),
        _changes(content.changes),
        _iterations(content),
        _denials(content),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def plain(text: str) -> str:
    """Foreign text without any Markdown of its own."""
    return _SPECIAL.sub(r"\\\1", clean_line(text))


def code(text: str) -> str:
    """Code in a fence longer than any in the text."""
    text = clean_line(text)
    if not text:
        return ""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{space}{text}{space}{fence}"


def _cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def _concerns(content: ReportContent) -> str:
    if not content.concerns:
        return ""
    return "### Concerns\n\n" + "\n".join(f"- {plain(concern)}" for concern in content.concerns)


def _findings(content: ReportContent) -> str:
    if not content.findings:
        return ""
    return "### Findings\n\n" + "\n".join(map(_finding, content.findings))


def _finding(one: Finding) -> str:
    where = f"{code(one.where)}: " if one.where else ""
    more = (f"\n  {plain(text)}" for text in (one.doubt, *one.paragraphs) if text)
    return f"- **{one.severity}** {where}{plain(one.title)}" + "\\".join(("", *more))


def _pull_requests(content: ReportContent) -> str:
    several = [_pull_request(task, pull) for task, pull in content.pull_requests]
    return (
        "### Pull request" + ("s" if len(several) > 1 else "") + "\n\n" + "\n\n".join(several)
        if several
        else ""
    )


def _pull_request(task: str, pull: PullRequestView) -> str:
    of = f"{plain(task)}: " if task else ""
    where = "" if pull.address else f" ({code(pull.where)})"
    facts = [
        f"{of}{_link(pull.name, pull.address)}{where} {plain(cut(pull.title, LONGEST_REASON))}, {plain(pull.state_words)}",
        f"{_TONES[pull.wording.tone]} {plain(pull.said)}",
        f"{code(cut(pull.branch))} into {code(cut(pull.base))}, at {code(pull.head[:12])}",
        plain(pull.counts),
        plain(pull.flaky_words),
        plain(pull.remarks),
    ]
    return "\n".join(f"- {fact}" for fact in facts if fact) + _pull_checks(pull)


def _pull_checks(pull: PullRequestView) -> str:
    if not pull.checks:
        return ""
    rows = [
        f"| {_link(plain(cut(check.name)), link_of(check.url))} | {_TONES[(how := describe_check(check)).tone]} {plain(how.words)} |"
        for check in pull.worst_first[:PULL_CHECKS_SHOWN]
    ]
    more = len(pull.checks) - PULL_CHECKS_SHOWN
    head = "\n\n| check | how it stands |\n|---|---|\n"
    return head + "\n".join(rows) + (f"\n\nand {more} more" if more > 0 else "")


def _link(words: str, address: str) -> str:
    """``words`` are escaped, and an address that may be a link needs no escape."""
    return f"[{words}]({address})" if address else words


def _parts(content: ReportContent) -> str:
    if not content.parts:
        return ""
    rows = [
        f"| {plain(str(part.label) or part.run.id)} | {part.run.state.words} | {part.run.iteration} |"
        f" {_cost(part.run.cost_usd, partly=part.run.cost_is_partial)} | {plain(part.run.reason)} |"
        for part in content.parts
    ]
    head = "| part | state | iterations | cost | why |\n|---|---|---|---|---|\n"
    return "### Parts\n\n" + head + "\n".join(rows)


def _cost(cost_usd: float | None, *, partly: bool) -> str:
    return "" if cost_usd is None else money(cost_usd, at_least=partly)


def _asked(content: ReportContent) -> str:
    if not content.asked:
        return ""
    asked = clean(content.asked)
    cut = "\n…" if len(asked) > ASKED_CHARS else ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", asked)), default=0))
    shown = f"{fence}text\n{asked[:ASKED_CHARS].rstrip()}{cut}\n{fence}"
    if asked.count("\n") > ASKED_LINES:
        shown = f"<details><summary>the first prompt</summary>\n\n{shown}\n\n</details>"
    return f"### Prompt\n\n{shown}"


def _checks(content: ReportContent) -> str:
    rates = {rate.name: f"{rate.passed} of {rate.ran}" for rate in content.figures.check_rates}
    if content.unchecked:
        return f"### Checks\n\n{content.unchecked}"
    rows = [
        f"| {_cell(check_words(name))} | {_MARKS[check.verdict]} {describe_verdict(check.verdict)} | {rates.get(name, '')} |"
        f" {_cell(check.command)} | {_cell(check.output_sha256[:12])} | {_found(check)} |"
        for name, check in content.last_checks.items()
    ]
    head = (
        "| check | at the end | passed | command | output sha256 | what it found |\n"
        "|---|---|---|---|---|---|\n"
    )
    return "### Checks\n\n" + head + "\n".join(rows)


def _found(check: CheckResult) -> str:
    reason = clean_line(check.reason)
    return plain(f"{reason[:REASON_CHARS]}…" if len(reason) > REASON_CHARS else reason)


def _changes(changes: Changes) -> str:
    if not changes.files:
        return f"### Changes\n\n{plain(changes.note)}" if changes.note else ""
    rows = [
        f"| {_cell(file.path)} | {'' if file.added is None else file.added} |"
        f" {'' if file.removed is None else file.removed} |"
        for file in changes.files[:FILES_SHOWN]
    ]
    more = len(changes.files) - FILES_SHOWN
    uncommitted = " (not committed)" if changes.uncommitted else ""
    return (
        f"### Changes\n\n{plural(len(changes.files), 'file')}, +{changes.added} -{changes.removed}{uncommitted}\n\n"
        "| file | added | removed |\n|---|---|---|\n"
        + "\n".join(rows)
        + (f"\n\nand {more} more" if more > 0 else "")
    )


def _iterations(content: ReportContent) -> str:
    shown = content.iterations[-ITERATIONS_SHOWN:]
    if not shown:
        return ""
    older = content.left_out + len(content.iterations) - len(shown)
    by_role = any(each.step for each in shown)
    head = ("#", *(["step"] if by_role else []), "decision", "checks", "time", "cost")
    rows = [head, ("---",) * len(head), *(_iteration(each, content, by_role=by_role) for each in shown)]
    return (
        "### Iterations\n\n"
        + "\n".join(f"| {' | '.join(row)} |" for row in rows)
        + (f"\n\n{older} older ones are not shown" if older else "")
        + (f"\n\n{content.removal}" if content.removal else "")
    )


def _denials(content: ReportContent) -> str:
    """Why claims were not accepted."""
    every = [
        (f"{part.label.task or part.run.id} ", each) for part in content.parts for each in part.iterations
    ]
    every += [("", each) for each in content.iterations]
    lines = [
        f"- {plain(part)}{_number(each)}: {_MARKS[check.verdict]} {code(check_words(check.name))}: "
        + (_found(check) or exit_words(check.exit_code))
        for part, each in every
        if each.denied
        for check in each.checks
        if not check.holds
    ]
    return "### Claims denied, by iteration\n\n" + "\n".join(lines[-DENIALS_SHOWN:]) if lines else ""


def _number(each: IterationView) -> str:
    return f"{each.iteration}" + (f".{each.attempt}" if each.attempt > 1 else "")


def _iteration(each: IterationView, content: ReportContent, *, by_role: bool) -> tuple[str, ...]:
    checks = " ".join(_MARKS[check.verdict] for check in each.checks)
    said = " (claimed done, denied)" if each.denied else ""
    decision = describe_iteration(each, live=content.run.live).words
    step = (plain(each.step),) if by_role else ()
    cost = _cost(each.spend.cost_usd, partly=each.spend.is_partly_unknown)
    return (_number(each), *step, f"{plain(decision)}{said}", checks, duration(each.seconds), cost)
