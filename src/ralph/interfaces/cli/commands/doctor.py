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
    from ralph.domain.views.health import Finding
    from ralph.interfaces.cli.terminal import Look

HELP = """Check everything a run here depends on: the agents (installed? which version? logged in? do they know the flags?),
sandboxes, git, disk space and settings. Nothing is changed and no tokens are spent: an agent's own program says whether
it is logged in, or the keys and files that exist do. In a project that is not trusted, no program is started that its
settings name.

Exit codes: 0 ready to run · 2 the settings are wrong, or the project is not trusted · 4 the configured agent, or
something else that a run needs, does not work

\b
Examples:
  ralph doctor
  ralph doctor --json | jq '.findings[] | select(.health == "bad")'
"""


@click.command("doctor", help=HELP)
@json_option("Print the findings as JSON.")
@project_dir_option
def command(as_json: bool, project_dir: Path | None) -> int:
    import asyncio

    from ralph.config.root import find_root
    from ralph.domain.views.health import Area, find_blockers
    from ralph.operations.doctor import examine

    findings = asyncio.run(examine(find_root(Path.cwd(), project_dir)))
    blockers = find_blockers(findings)
    if as_json:
        print_json({"ready": not blockers, "findings": [_data(finding) for finding in findings]})
    else:
        from ralph.interfaces.cli.terminal import detect_look

        look = detect_look(sys.stdout)
        print("\n".join(_lines(findings, blockers, look)))
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


def _lines(findings: Sequence[Finding], blockers: Sequence[Finding], look: Look) -> Iterator[str]:
    from ralph.domain.text.safe_text import clean_line
    from ralph.domain.views.health import Area, Health
    from ralph.interfaces.cli.folding import LEAST_ROOM, fold
    from ralph.interfaces.cli.terminal import colors_of, display_width, is_terminal, marks_of, terminal_width

    marks, colors = marks_of(look), colors_of(look)
    signs = {
        Health.GOOD: (marks.ok, colors.green),
        Health.ABSENT: (marks.dot, colors.dim),
        Health.DOUBTFUL: (marks.warning, colors.yellow),
        Health.BAD: (marks.error, colors.red),
    }
    width = max(len(clean_line(finding.name)) for finding in findings)
    sign_width = max(display_width(sign) for sign, _ in signs.values())
    below = " " * (sign_width + width + 5)
    room = terminal_width(sys.stdout) - len(below) if is_terminal(sys.stdout) else sys.maxsize

    def under(text: str) -> str:
        """In its column, also where a narrow terminal breaks it."""
        return fold(clean_line(text), max(room, LEAST_ROOM)).replace("\n", f"\n{below}")

    for area in Area:
        yield f"{colors.bold}{area.capitalize()}{colors.off}"
        for finding in findings:
            if finding.area is not area:
                continue
            sign, color = signs[finding.health]
            name = clean_line(finding.name).ljust(width)
            configured = " (configured)" if finding.details.get("configured") else ""
            sign += " " * (sign_width - display_width(sign))
            yield f"  {color}{sign}{colors.off} {name}  {under(finding.text + configured)}"
            promises = finding.details.get("guarantees")
            for promise in promises if isinstance(promises, list) else ():
                yield f"{below}{colors.dim}{under(str(promise))}{colors.off}"
            for advice in finding.advice:
                yield f"{below}{under(f'{marks.right} {advice}')}"
        yield ""
    lacks_agent = any(finding.details.get("missing") for finding in findings)
    if blockers:
        names = ", ".join(dict.fromkeys(clean_line(finding.name) for finding in blockers))
        yield f"{marks.error} Not ready to run: see {names}{', or give --agent' if lacks_agent else ''}."
    elif lacks_agent:
        yield f"{marks.ok} Ready to run with --agent; `ralph init` chooses an agent for good."
    else:
        yield f"{marks.ok} Ready to run."
