"""The report as one self-contained HTML page: no script, nothing from outside, foreign text always escaped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path

from ralph.domain.loop.evidence import CheckResult, Verdict
from ralph.domain.proof.layer_names import LAYER_NAMES, check_words
from ralph.domain.review.finding import Finding
from ralph.domain.text.figures import compact, duration, money, plural
from ralph.domain.text.safe_text import clean, clean_line
from ralph.domain.views.changes import Changes
from ralph.domain.views.decisions import Tone, Wording, describe_iteration, describe_verdict
from ralph.domain.views.iterations import IterationView
from ralph.domain.views.pull_request import PullRequestView, describe_check, link_of
from ralph.domain.views.runs import RunState, RunView, caveat_of
from ralph.interfaces.report.content import ReportContent
from ralph.values import dataclass

FILES_SHOWN = 200
PULL_CHECKS_SHOWN = 500
CHART_WIDTH = 440
CHART_HEIGHT = 120
CHART_LEFT = 56
MOST_BARS = 120
WIDEST_STEP = 32.0
_CLASSES = {Tone.GOOD: "good", Tone.OPEN: "odd", Tone.QUIET: "dim", Tone.WARNING: "odd", Tone.BAD: "bad"}
_VERDICT_CLASS = {
    Verdict.PASSED: "good",
    Verdict.FAILED: "bad",
    Verdict.ERRORED: "bad",
    Verdict.SKIPPED: "dim",
}
_SIGNS = {Tone.GOOD: "✓", Tone.OPEN: "◔", Tone.QUIET: "-", Tone.WARNING: "!", Tone.BAD: "✗"}
_STATE_CLASS = {RunState.COMPLETED: "good", RunState.FAILED: "bad", RunState.EXHAUSTED: "bad"}
# Even if someone managed to inject something into the page, it may do nothing.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def html_report(content: ReportContent) -> str:
    run = content.run
    style = Path(__file__).with_name("style.css").read_text(encoding="utf-8")
    title = f'<p class="title">{line(str(content.label))}</p>' if str(content.label) else ""
    body = [
        f"<h1>Run {line(run.id)}</h1>",
        title,
        _verdict(content),
        _facts(content),
        _concerns(content),
        _findings(content),
        _pull_requests(content),
        _parts(content),
        _asked(content),
        _charts(content),
        _checks(content),
        _changes(content.changes),
        _iterations(content),
        _notes(content),
        f"<footer>Written by ralph, {moment(content.written_at)}. A claim is the agent's word; a check is the harness's proof.</footer>",
    ]
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f"<title>ralph: run {line(run.id)}: {line(content.headline)}</title>\n"
        f"<style>\n{style}</style>\n</head>\n<body>\n"
        + "\n".join(filter(None, body))
        + "\n</body>\n</html>\n"
    )


def line(text: str) -> str:
    """Foreign text on one line."""
    return escape(clean_line(text))


def block(text: str) -> str:
    return escape(clean(text))


def moment(at: float | None) -> str:
    if at is None:
        return "-"
    try:
        return datetime.fromtimestamp(at, tz=UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (OverflowError, ValueError, OSError):
        return "at an unknown time"


def _verdict(content: ReportContent) -> str:
    run = content.run
    has_concerns = run.state is RunState.COMPLETED and (content.concerns or content.findings)
    kind = "odd" if has_concerns else _STATE_CLASS.get(run.state, "odd")
    reason = f": {line(run.reason)}" if run.reason else ""
    caveat = f'<p class="odd">{line(said)}</p>' if (said := caveat_of(run)) else ""
    hint = f'<p class="dim">{line(content.hint)}</p>' if content.hint else ""
    return (
        f'<p class="verdict"><span class="{kind}">{line(content.headline)}</span>{reason}</p>{caveat}{hint}'
    )


def _facts(content: ReportContent) -> str:
    run, figures = content.run, content.figures
    facts = [("Iterations", content.count)]
    if run.cost_usd is not None:
        facts.append(("Cost", money(run.cost_usd, at_least=run.cost_is_partial)))
    if run.tokens:
        facts.append(("Tokens", compact(run.tokens)))
    facts += [
        ("Elapsed time", duration(content.elapsed)),
        ("Time in iterations", duration(figures.seconds)),
        ("Claims denied by checks", str(figures.denied)),
        ("Agent", run.agent_words),
        ("Profile", run.profile),
        *([("Proof", run.proof.words)] if run.proof is not None else ()),
        ("Started", moment(run.started_at)),
        ("Ended", moment(run.ended_at) if run.ended_at is not None else "not yet"),
    ]
    shown = "".join(f"<div><dt>{line(name)}</dt><dd>{line(value)}</dd></div>" for name, value in facts)
    notes = "".join(f'<p class="dim">{line(note)}</p>' for note in content.header)
    return f'<dl class="facts">{shown}</dl>{notes}'


def _concerns(content: ReportContent) -> str:
    if not content.concerns:
        return ""
    items = "".join(f"<li>{line(concern)}</li>" for concern in content.concerns)
    return f'<h2 class="odd">Concerns</h2><ul>{items}</ul>'


def _findings(content: ReportContent) -> str:
    if not content.findings:
        return ""
    return f'<h2 class="odd">Findings</h2><ul>{"".join(map(_finding, content.findings))}</ul>'


def _finding(one: Finding) -> str:
    where = f"<code>{line(one.where)}</code>: " if one.where else ""
    doubt = f'<p class="odd">{line(one.doubt)}</p>' if one.doubt else ""
    words = "".join(f"<p>{block(text)}</p>" for text in one.paragraphs)
    return f"<li><strong>{one.severity}</strong> {where}{line(one.title)}{doubt}{words}</li>"


def _pull_requests(content: ReportContent) -> str:
    pulls = content.pull_requests
    head = f"<h2>{'Pull requests' if len(pulls) > 1 else 'Pull request'}</h2>"
    return head + "".join(_pull_request(task, pull) for task, pull in pulls) if pulls else ""


def _pull_request(task: str, pull: PullRequestView) -> str:
    of = f"{line(task)}: " if task else ""
    color, sign = _CLASSES[pull.wording.tone], _SIGNS[pull.wording.tone]
    facts = [
        f"{line(pull.branch)} into {line(pull.base)}",
        f"commit <code>{line(pull.head[:12])}</code>",
        line(pull.counts),
        line(pull.flaky_words),
        line(pull.remarks),
        f"<code>{line(pull.url)}</code>" if pull.url else "",  # in sight: a page may be printed
    ]
    return (
        f"<p>{of}{_link(pull.address, pull.name)} <strong>{line(pull.title)}</strong>, {line(pull.state_words)}</p>"
        f'<p><span class="{color}">{sign} {line(pull.said)}</span></p>'
        f'<p class="dim">{" · ".join(filter(None, facts))}</p>{_pull_checks(pull)}'
    )


def _pull_checks(pull: PullRequestView) -> str:
    if not pull.checks:
        return ""
    rows = "".join(
        f"<tr><td>{_link(link_of(check.url), check.name)}</td>"
        f'<td><span class="{_CLASSES[(how := describe_check(check)).tone]}">{_SIGNS[how.tone]} {line(how.words)}</span></td></tr>'
        for check in pull.worst_first[:PULL_CHECKS_SHOWN]
    )
    more = len(pull.checks) - PULL_CHECKS_SHOWN
    return (
        f"<table><thead><tr><th>check</th><th>how it stands</th></tr></thead><tbody>{rows}</tbody></table>"
        + (f'<p class="dim">and {more} more</p>' if more > 0 else "")
    )


def _link(address: str, words: str) -> str:
    return (
        f'<a href="{escape(address)}" rel="noopener noreferrer">{line(words)}</a>' if address else line(words)
    )


def _parts(content: ReportContent) -> str:
    if not content.parts:
        return ""
    rows = "".join(
        f"<tr><td>{line(str(part.label) or part.run.id)}"
        f'<div class="dim">{line(part.run.id)}</div></td>'
        f'<td><span class="{_STATE_CLASS.get(part.run.state, "odd")}">{part.run.state.words}</span></td>'
        f'<td class="n">{part.run.iteration}</td><td class="n">{_cost(part.run)}</td><td>{line(part.run.reason)}</td></tr>'
        for part in content.parts
    )
    return (
        '<h2>Parts</h2><table class="parts"><thead><tr><th>part</th><th>state</th><th class="n">iterations</th>'
        f'<th class="n">cost</th><th>why</th></tr></thead><tbody>{rows}</tbody></table>'
    )


def _cost(run: RunView) -> str:
    return "" if run.cost_usd is None else line(money(run.cost_usd, at_least=run.cost_is_partial))


def _asked(content: ReportContent) -> str:
    return f"<h2>Prompt</h2><pre>{block(content.asked)}</pre>" if content.asked else ""


def _charts(content: ReportContent) -> str:
    judged = content.iterations
    if len(judged) < 2:  # a single bar compares nothing
        return ""
    wordings = [describe_iteration(each, live=content.run.live) for each in judged]
    looks = [(_name(each), _CLASSES[wording.tone]) for each, wording in zip(judged, wordings, strict=True)]
    cost = [Bar(name, each.spend.cost_usd, color) for each, (name, color) in zip(judged, looks, strict=True)]
    time = [Bar(name, each.seconds, color) for each, (name, color) in zip(judged, looks, strict=True)]
    drawn = [bars("Cost per iteration", cost, money), bars("Time per iteration", time, duration)]
    legend = _legend(wordings)
    return f'<h2>Cost and time</h2><div class="charts">{"".join(drawn)}</div>{legend}' if any(drawn) else ""


def _legend(wordings: Iterable[Wording]) -> str:
    """The meaning of the colours in use."""
    meanings: dict[str, dict[str, None]] = {}
    for wording in wordings:
        meanings.setdefault(_CLASSES[wording.tone], {})[wording.words] = None
    shown = (f'<span class="{color}">■</span> {line(", ".join(words))}' for color, words in meanings.items())
    return f'<p class="dim">{" ".join(shown)}</p>'


def _checks(content: ReportContent) -> str:
    rates = {rate.name: f"{rate.passed} of {rate.ran}" for rate in content.figures.check_rates}
    if content.unchecked:
        return f'<h2>Checks</h2><p class="odd">{content.unchecked}</p>'
    rows = "".join(
        f"<tr><td>{line(check_words(name))}</td><td>{_verdict_of(check)}</td>"
        f'<td class="n">{rates.get(name, "")}</td><td>{line(check.reason)}</td></tr>'
        for name, check in content.last_checks.items()
    )
    return (
        '<h2>Checks</h2><table><thead><tr><th>check</th><th>at the end</th><th class="n">passed</th><th>what it found</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _verdict_of(check: CheckResult) -> str:
    return f'<span class="{_VERDICT_CLASS[check.verdict]}">{describe_verdict(check.verdict)}</span>'


def _changes(changes: Changes) -> str:
    if not changes.files:
        return f'<h2>Changes</h2><p class="dim">{line(changes.note)}</p>' if changes.note else ""
    rows = "".join(
        f'<tr><td><code>{line(file.path)}</code></td><td class="n add">{_count("+", file.added)}</td>'
        f'<td class="n del">{_count("-", file.removed)}</td></tr>'
        for file in changes.files[:FILES_SHOWN]
    )
    more = len(changes.files) - FILES_SHOWN
    subjects = (f"<li><code>{line(each.id)}</code> {line(each.subject)}</li>" for each in changes.commits)
    commits = "".join(subjects)
    return (
        f"<h2>Changes</h2><p>{plural(len(changes.files), 'file')}, "
        f'<span class="add">+{changes.added}</span> <span class="del">-{changes.removed}</span>'
        f"{' (not committed)' if changes.uncommitted else ''}</p>"
        f"<table><tbody>{rows}</tbody></table>"
        + (f'<p class="dim">and {more} more</p>' if more > 0 else "")
        + (f"<ul>{commits}</ul>" if commits else "")
        + _patch(changes)
    )


def _count(sign: str, number: int | None) -> str:
    return "" if number is None else f"{sign}{number}"


def _patch(changes: Changes) -> str:
    if not changes.patch:
        return ""
    cut = '<p class="dim">The rest is not shown.</p>' if changes.is_cut else ""
    return f"<details><summary>Diff</summary><pre>{''.join(_patch_lines(changes.patch))}</pre>{cut}</details>"


def _patch_lines(patch: str) -> Iterable[str]:
    for text in clean(patch).split("\n"):
        kind = {"+": "add", "-": "del", "@": "hunk"}.get(text[:1])
        yield f'<span class="{kind}">{escape(text)}</span>\n' if kind else f"{escape(text)}\n"


def _iterations(content: ReportContent) -> str:
    left_out = f'<p class="dim">{content.left_out} older ones are not shown.</p>' if content.left_out else ""
    if not content.iterations:
        return ""
    removal = f'<p class="dim">{escape(content.removal)}</p>' if content.removal else ""
    shown = (_iteration(each, live=content.run.live) for each in content.iterations)
    return f"<h2>Iterations</h2>{left_out}{removal}" + "".join(shown)


def _name(each: IterationView) -> str:
    return f"iteration {each.iteration}" + (f", attempt {each.attempt}" if each.attempt > 1 else "")


def _iteration(each: IterationView, *, live: bool) -> str:
    wording = describe_iteration(each, live=live)
    words, color = wording.words, _CLASSES[wording.tone]
    role = f", {line(each.step)}" if each.step else ""
    figures = [duration(each.seconds)] if each.seconds else []
    if each.spend.cost_usd is not None:
        figures.append(money(each.spend.cost_usd, at_least=each.spend.is_partly_unknown))
    if each.tools:
        failed = f", {each.tool_errors} failed" if each.tool_errors else ""
        figures.append(plural(each.tools, "tool") + failed)
    if each.denied:
        words += ", though it claimed to be done"
    reason = f"<p>{line(each.reason)}</p>" if each.reason else ""
    fault = f'<p class="bad">{line(each.fault)}</p>' if each.fault else ""
    claims = f"<p>Claimed: {line(', '.join(each.claims))}</p>" if each.claims else ""
    if not each.claims and each.is_judged:
        claims = "<p>Nothing was claimed.</p>"
    actions = "".join(
        f'<p><span class="{"good" if action.ok else "bad"}">{line(action.name)}</span> {line(action.message)}</p>'
        for action in each.actions
    )
    commit = f'<p class="dim">commit <code>{line(each.commit[:12])}</code></p>' if each.commit else ""
    return (
        f'<details class="iteration"{" open" if each.denied else ""}><summary>'
        f'<h3>{line(_name(each).capitalize())}</h3>{role} <span class="{color}">{line(words)}</span>'
        f' <span class="dim">{line(" · ".join(figures))}</span></summary>'
        f"{reason}{fault}{claims}{_receipts(each)}{actions}{commit}</details>"
    )


def _receipts(each: IterationView) -> str:
    if not each.checks:
        return ""
    rows = "".join(map(_receipt, each.checks))
    return (
        '<table class="receipts"><thead><tr><th>check</th><th>verdict</th><th>receipt</th></tr></thead>'
        f"<tbody>{rows}</tbody></table>"
    )


def _receipt(check: CheckResult) -> str:
    sha = line(check.output_sha256)
    receipt = (
        f"<code>{line(check.command)}</code>" if check.command else "",
        f"exit {check.exit_code}" if check.exit_code is not None else "",
        duration(check.seconds) if check.seconds else "",
        f'<span class="dim" title="{sha}">output sha256 {sha[:12]}…</span>' if sha else "",
        line(check.reason),
    )
    output = ""
    if check.last_lines and check.verdict is not Verdict.PASSED:
        output = f"<pre>{block(chr(10).join(check.last_lines))}</pre>"
    optional = "" if check.required or check.name in LAYER_NAMES else ' <span class="dim">(optional)</span>'
    return (
        f"<tr><td>{line(check_words(check.name))}{optional}</td><td>{_verdict_of(check)}</td>"
        f"<td>{' · '.join(filter(None, receipt))}{output}</td></tr>"
    )


def _notes(content: ReportContent) -> str:
    if not content.notes:
        return ""
    items = "".join(
        f"<li>{f'iteration {note.iteration}: ' if note.iteration else ''}"
        f"{'note from the user: ' if note.kind == 'steered' else ''}{line(note.text)}</li>"
        for note in content.notes
    )
    return f"<h2>Notes</h2><ul>{items}</ul>"


# --- charts ---


@dataclass(frozen=True, slots=True)
class Bar:
    """``value`` None: unknown. ``color`` is a class of the style sheet."""

    label: str
    value: float | None
    color: str


def bars(title: str, values: Sequence[Bar], show: Callable[[float], str]) -> str:
    """Bars as inline SVG, with their figures as titles; empty if there is nothing to draw."""
    shown = values[-MOST_BARS:]
    top = max((bar.value or 0.0 for bar in shown), default=0.0)
    if top <= 0:
        return ""
    step = min(WIDEST_STEP, (CHART_WIDTH - CHART_LEFT) / len(shown))
    drawn = [_bar(bar, index, step, top, show) for index, bar in enumerate(shown)]
    ends = " … ".join(dict.fromkeys(escape(bar.label) for bar in (shown[0], shown[-1])))
    return (
        f"<figure><figcaption>{escape(title)}</figcaption>"
        f'<svg viewBox="0 0 {CHART_WIDTH} {CHART_HEIGHT + 22}" role="img" aria-label="{escape(title)}">'
        f'<line class="axis" x1="{CHART_LEFT}" y1="{CHART_HEIGHT}" x2="{CHART_WIDTH}" y2="{CHART_HEIGHT}"/>'
        f'<line class="grid" x1="{CHART_LEFT}" y1="8" x2="{CHART_WIDTH}" y2="8"/>'
        f'<text x="{CHART_LEFT - 6}" y="12" text-anchor="end">{escape(show(top))}</text>'
        f'<text x="{CHART_LEFT - 6}" y="{CHART_HEIGHT}" text-anchor="end">{escape(show(0.0))}</text>'
        f'<text x="{CHART_LEFT}" y="{CHART_HEIGHT + 16}">{ends}</text>'
        f"{''.join(drawn)}</svg></figure>"
    )


def _bar(bar: Bar, index: int, step: float, top: float, show: Callable[[float], str]) -> str:
    value = bar.value or 0.0
    height = max(1.0, (CHART_HEIGHT - 8) * value / top)
    gap = step / 5
    figure = show(value) if bar.value is not None else "unknown"
    return (
        f'<rect class="bar {bar.color}" x="{CHART_LEFT + index * step + gap / 2:.1f}" y="{CHART_HEIGHT - height:.1f}"'
        f' width="{step - gap:.1f}" height="{height:.1f}"><title>{escape(bar.label)}: {escape(figure)}</title></rect>'
    )
