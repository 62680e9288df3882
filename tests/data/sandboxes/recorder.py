"""Stands in for sbx, docker, podman or srt: takes the command lines they take, no others, and writes them down.

``RECORDER_FOLDER`` has ``calls.jsonl`` (what was called) and may have ``answers.json``: a list of
``[beginning of the arguments, exit code, stdout, stderr]``, the first that fits counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

# For each command: flags that stand alone, flags with a value, the least number of operands; None: the rest is free.
KNOWN = {
    "sbx": {
        ("ls",): ({"--json"}, set(), 0, 0),
        ("create",): ({"--quiet"}, {"--name", "--memory"}, 2, 99),
        ("exec",): ({"--interactive"}, {"--workdir", "--env"}, 2, None),
        ("stop",): (set(), set(), 1, 1),
        ("rm",): ({"--force"}, set(), 1, 1),
        ("policy", "allow", "network"): (set(), {"--sandbox"}, 1, 1),
        ("policy", "deny", "network"): (set(), {"--sandbox"}, 1, 1),
        ("secret", "set"): (set(), set(), 2, 2),
    },
    "docker": {
        ("info",): (set(), {"--format"}, 0, 0),
        ("container", "inspect"): (set(), {"--format"}, 1, 1),
        ("run",): (
            {"--detach"},
            {
                "--name", "--label", "--cap-drop", "--security-opt", "--tmpfs", "--env", "--workdir", "--user",
                "--network", "--memory", "--memory-swap", "--pids-limit", "--mount",
            },
            1,
            None,
        ),
        ("start",): (set(), set(), 1, 1),
        ("exec",): ({"--interactive"}, {"--workdir", "--env"}, 2, None),
        ("stop",): (set(), {"--time"}, 1, 1),
        ("rm",): ({"--force"}, set(), 1, 1),
    },
    "srt": {(): ({"--version"}, {"--settings", "-c"}, 0, 0)},
}  # fmt: skip


def main() -> int:
    program, arguments = Path(sys.argv[0]).name, sys.argv[1:]
    folder = Path(os.environ["RECORDER_FOLDER"])
    stdin = "" if sys.stdin.isatty() else sys.stdin.read()
    with (folder / "calls.jsonl").open("a") as calls:
        calls.write(
            json.dumps({"argv": [program, *arguments], "stdin": stdin, "env": dict(os.environ)}) + "\n"
        )
    wrong = complaint(program, arguments)
    if wrong:
        sys.stderr.write(f"{program}: {wrong}\n")
        return 64
    answers = folder / "answers.json"
    for beginning, code, stdout, stderr in json.loads(answers.read_text()) if answers.exists() else []:
        if arguments[: len(beginning)] == beginning:
            sys.stdout.write(stdout)
            sys.stderr.write(stderr)
            return int(code)
    if program == "srt" and "-c" in arguments:
        return subprocess.run(["sh", "-c", arguments[arguments.index("-c") + 1]], check=False).returncode
    return 0


def complaint(program: str, arguments: list[str]) -> str:
    for command, (alone, valued, least, most) in KNOWN["docker" if program == "podman" else program].items():
        if tuple(arguments[: len(command)]) == command:
            return flags_complaint(arguments[len(command) :], alone, valued, least, most)
    return f"unknown command {arguments[:1]}"


def flags_complaint(
    arguments: list[str], alone: set[str], valued: set[str], least: int, most: int | None
) -> str:
    operands = 0
    rest = iter(arguments)
    for argument in rest:
        name, equals, _ = argument.partition("=")
        if most is None and operands:
            operands += 1  # behind the sandbox's name everything is the command's
        elif not argument.startswith("-"):
            operands += 1
        elif name in valued:
            if not equals and next(rest, None) is None:
                return f"{name} needs a value"
        elif argument not in alone:
            return f"unknown flag {argument}"
    if operands < least or (most is not None and operands > most):
        return f"{operands} operands"
    return ""


if __name__ == "__main__":
    sys.exit(main())
