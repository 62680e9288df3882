"""``ralph doctor``: whether a run can work here, and what to do if not."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ralph.interfaces.cli.exit_codes import ExitCode
from ralph.interfaces.cli.options import json_option, print_json, project_dir_option

if TYPE_CHECKING:
    from ralph.config.root import Root
    from ralph.domain.views.health import Finding
    from ralph.domain.views.probe import ProbedAgent
    from ralph.interfaces.cli.terminal import Look

HELP = """Check everything a run here depends on: the agents (installed? which version? logged in? do they know the flags?),
sandboxes, git, disk space and settings. Nothing is changed and no tokens are spent: an agent's own program says whether
it is logged in, or the keys and files that exist do. In a project that is not trusted, no program is started that its
settings name.

With --probe, installed agents work for real, with a scripted model on this machine, in a temporary folder and home:
without your login, your flags, your network and your tokens. It shows which features of ralph's adapter hold with the
version that you have. This takes up to a minute for each agent.

Exit codes: 0 ready to run; with --probe, every feature holds · 2 the settings are wrong, or the project is not
trusted · 4 the configured agent, or something else that a run needs, does not work

\b
Examples:
  ralph doctor
  ralph doctor --json | jq '.findings[] | select(.health == "bad")'
  ralph doctor --probe codex
"""


ALL = "all"


@click.command("doctor", help=HELP)
@click.option(
    "--probe",
    is_flag=False,
    flag_value=ALL,
    default=None,
    metavar="[AGENT]",
    help="Let AGENT, or each that is installed, work with a scripted model, and show which features hold.",
)
@json_option("Print the findings as JSON.")
@project_dir_option
def command(probe: str | None, as_json: bool, project_dir: Path | None) -> int:
    import asyncio

    from ralph.config.root import find_root
    from ralph.domain.views.health import Area, find_blockers
    from ralph.operations.doctor import examine

    if probe is not None:
        return _probe(find_root(Path.cwd(), project_dir), "" if probe == ALL else probe, as_json=as_json)
    findings = asyncio.run(examine(find_root(Path.cwd(), project_dir)))
    blockers = find_blockers(findings)
    if as_json:
        print_json({"ready": not blockers, "findings": [_data(finding) for finding in findings]})
    else:
        from ralph.interfaces.cli.terminal import detect_look

        look = detect_look(sys.stdout)
        sections = [(area.capitalize(), [each for each in findings if each.area is area]) for area in Area]
        print("\n".join((*_lines(sections, look), _conclusion(findings, blockers, look))))
    if not blockers:
        return ExitCode.COMPLETED
    is_about_settings = any(finding.area is Area.SETTINGS for finding in blockers)
    return ExitCode.USAGE if is_about_settings else ExitCode.CANNOT_RUN


def _data(finding: Finding) -> dict[str, object]:
    return {
        "area": finding.area,
        "name": finding.name,
        "health": finding.health,
        "needed": finding.needed,
        "text": finding.text,
        "advice": list(finding.advice),
        **({"details": dict(finding.details)} if finding.details else {}),
    }


def _lines(sections: Sequence[tuple[str, Sequence[Finding]]], look: Look) -> Iterator[str]:
    """Each section with a title; the findings of all have their columns in common."""
    from ralph.domain.text.safe_text import clean_line
    from ralph.domain.views.health import Health
    from ralph.interfaces.cli.folding import LEAST_ROOM, fold
    from ralph.interfaces.cli.terminal import colors_of, display_width, is_terminal, marks_of, terminal_width

    marks, colors = marks_of(look), colors_of(look)
    signs = {
        Health.GOOD: (marks.ok, colors.green),
        Health.ABSENT: (marks.dot, colors.dim),
        Health.DOUBTFUL: (marks.warning, colors.yellow),
        Health.BAD: (marks.error, colors.red),
    }
    width = max(len(clean_line(finding.name)) for _, findings in sections for finding in findings)
    sign_width = max(display_width(sign) for sign, _ in signs.values())
    below = " " * (sign_width + width + 5)
    room = terminal_width(sys.stdout) - len(below) if is_terminal(sys.stdout) else sys.maxsize

    def under(text: str) -> str:
        """In its column, also where a narrow terminal breaks it."""
        return fold(clean_line(text), max(room, LEAST_ROOM)).replace("\n", f"\n{below}")

    for title, findings in sections:
        yield f"{colors.bold}{clean_line(title)}{colors.off}"
        for finding in findings:
            sign, color = signs[finding.health]
            name = clean_line(finding.name).ljust(width)
            configured = " (configured)" if finding.details.get("configured") else ""
            sign += " " * (sign_width - display_width(sign))
            yield f"  {color}{sign}{colors.off} {name}  {under(finding.text + configured)}".rstrip()
            promises = finding.details.get("guarantees")
            for promise in promises if isinstance(promises, list) else ():
                yield f"{below}{colors.dim}{under(str(promise))}{colors.off}"
            for advice in finding.advice:
                yield f"{below}{under(f'{marks.right} {advice}')}"
        yield ""


def _conclusion(findings: Sequence[Finding], blockers: Sequence[Finding], look: Look) -> str:
    from ralph.domain.text.safe_text import clean_line
    from ralph.interfaces.cli.terminal import marks_of

    marks = marks_of(look)
    lacks_agent = any(finding.details.get("missing") for finding in findings)
    if blockers:
        names = ", ".join(dict.fromkeys(clean_line(finding.name) for finding in blockers))
        return f"{marks.error} Not ready to run: see {names}{', or give --agent' if lacks_agent else ''}."
    if lacks_agent:
        return f"{marks.ok} Ready to run with --agent; `ralph init` chooses an agent for good."
    return f"{marks.ok} Ready to run."


# --- with --probe ---


def _probe(root: Root, agent: str, *, as_json: bool) -> int:
    import asyncio

    from ralph.interfaces.cli.termination import sigterm_as_ctrl_c
    from ralph.operations.agent_probe import probe

    def begin() -> None:
        if not as_json:
            print(
                f"Probing {agent or 'the agents that are installed'} with a scripted model …", file=sys.stderr
            )

    with sigterm_as_ctrl_c():
        probed = asyncio.run(probe(root, agent, begin=begin))
    holds = any(each.features for each in probed) and not any(each.broken for each in probed)
    if as_json:
        print_json({"holds": holds, "agents": [_probed_data(each) for each in probed]})
    else:
        from ralph.interfaces.cli.terminal import detect_look

        print("\n".join(_probed_lines(probed, detect_look(sys.stdout))))
    return ExitCode.COMPLETED if holds else ExitCode.CANNOT_RUN


def _probed_data(probed: ProbedAgent) -> dict[str, object]:
    return {
        "agent": probed.agent,
        "version": probed.version,
        "tested": probed.tested,
        "obstacle": probed.obstacle,
        "advice": probed.advice,
        "features": [_data(feature) for feature in probed.features],
        "events": list(probed.kinds),
    }


def _probed_lines(probed: Sequence[ProbedAgent], look: Look) -> Iterator[str]:
    from ralph.domain.text.safe_text import clean_line
    from ralph.interfaces.cli.terminal import marks_of
    from ralph.operations.agent_probe import install_example

    marks = marks_of(look)
    tried = [each for each in probed if each.features]
    if tried:
        yield from _lines([(f"{each.agent} {each.version}".rstrip(), each.features) for each in tried], look)
    for each in probed:
        name = clean_line(each.agent)
        if not each.features:
            yield f"{marks.error} {name}: {clean_line(each.obstacle)}{f'; {each.advice}' if each.advice else ''}."
        elif each.broken:
            names = ", ".join(feature.name for feature in each.broken)
            yield f"{marks.error} {name}: this does not hold: {names}. To do: {clean_line(each.advice)}."
        else:
            yield f"{marks.ok} {name}: every feature holds."
    if not probed:
        yield f"{marks.error} No agent that can be probed is installed. Install one, {install_example()}"
