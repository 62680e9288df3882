"""What the hostile agent does, as data: by promise, what a right harness does, and how that is judged from outside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from tests.faults.loops import HONEST, PYTEST

Words = tuple[tuple[str, str], ...]
"""Ways of speaking (text, tool, thinking, stderr, error, limit), each with what is said; ``{claim}`` is the harness's own."""


class Promise(StrEnum):
    """What people ask of a loop that runs without them."""

    CONTROL = "Honest work is accepted"
    LIES = "Done only when it is"
    HANGS = "No hangs"
    ORPHANS = "No orphans"
    LIMITS = "A usage limit is waited for"
    OVERFLOW = "A context overflow is survived"
    FLOOD = "A flood is borne"
    DISK = "A full disk is survived"
    RESUME = "Nothing is lost by a kill"


class Judgement(StrEnum):
    """Which question the judge asks; ``judge.py`` has the answers."""

    ACCEPTS = "it says done, and the work is there"
    DENIES = "it does not say done"
    ENDS = "the session's processes are gone in time, and it does not say done"
    CLEARS = "nothing that the agent started is left"
    WAITS = "few launches while limited, and no false done"
    RECOVERS = "it says done, the work is there, after a session that failed"
    BOUNDED = "no process of the harness grows with the output"
    RESTARTS = "started again, it finishes, and the work is there"
    RESUMES = "resumed, it finishes, repeats at most one session, and keeps the user's change"
    COUNTS = "resumed, it keeps to the limit of iterations that it began with"


class Interruption(StrEnum):
    """What happens to the harness while the first or second session runs."""

    NONE = ""
    INT = "Ctrl-C: SIGINT to its process group, as a terminal sends it"
    TERM = "SIGTERM to its first process"
    KILL = "SIGKILL to its first process"
    CRASH = "SIGKILL to everything at once, as by a power cut"


CLAIM: Words = (("text", "{chat} All of it is done. {claim}"),)
SILENT: Words = ()


@dataclass(frozen=True, kw_only=True)
class Act:
    """One fault. ``shell`` works in the agent's working folder and knows ``$here`` (the stage) and ``$number`` (of the
    launch); a word that it writes to ``$voice`` chooses among ``voices``."""

    id: str
    promise: Promise
    does: str
    judgement: Judgement
    shell: str = ""
    says: Words = CLAIM
    voices: Mapping[str, Words] = field(default_factory=dict)
    marks: bool = True
    """It also writes "done" wherever this harness looks for it."""
    commits: bool = True
    after: str = ""
    check: str = PYTEST
    tasks: int = 1
    interruption: Interruption = Interruption.NONE
    floods: bool = False
    is_full: bool = False
    quick: bool = False
    """Part of the selection that keeps the benchmark itself from rotting."""


def task_file(number: int) -> str:
    return "work.py" if number == 1 else f"work{number}.py"


NEXT_TASK = """next=$(grep -l 41 work*.py 2>/dev/null | head -n 1)
[ -n "$next" ] && sed -i s/41/42/ "$next"
if grep -q 41 work*.py; then echo "${PER_TASK:-silent}" > "$voice"; fi
"""
"""One task per session; the claim comes with the last, or with each if the harness hands out tasks one by one."""

SESSION = """setsid sleep 600 > /dev/null 2>&1 < /dev/null &
tool=$!
echo $tool > "$here/pid-tool-$number"
echo $$ > "$here/pid-agent-$number"
"""
"""A tool in a session of its own, as real agents start them: a signal to the process group misses it."""

HANGS = f"""{SESSION}trap 'kill $tool; exit 130' INT TERM HUP
touch "$here/ready-$number"
wait"""
"""Told to end, it ends its tool, as real agents do; nothing else ends it."""
STUBBORN = f"""trap '' INT TERM HUP
{SESSION}touch "$here/ready-$number"
while :; do sleep 1; done"""
DAEMON = f"""env -i PATH="$PATH" setsid sh -c 'echo $$ > "$0"; exec sleep 600' "$here/pid-daemon" > /dev/null 2>&1 < /dev/null &
until [ -s "$here/pid-daemon" ]; do sleep 0.05; done
{HONEST}"""

LIMIT_SECONDS = 12
LIMITED = f"""[ -e "$here/resets" ] || echo $(($(date +%s) + {LIMIT_SECONDS})) > "$here/resets"
if [ "$(date +%s)" -lt "$(cat "$here/resets")" ]; then echo limited > "$voice"; echo >> "$here/limited"; else {HONEST}; fi"""
OVERFLOWS = f"""if [ "$number" = 1 ] || [ -n "$resumed" ]; then echo overflow > "$voice"; else {HONEST}; fi"""
OVERFLOW_SECOND = OVERFLOWS.replace('"$number" = 1', '"$number" -le 2')
FLOODS = f"""head -c 100000000 /dev/zero | tr '\\0' a; echo
yes "$(head -c 2000 /dev/zero | tr '\\0' b)" | head -c 100000000
echo; {HONEST}"""
FILLS = f"""if [ "$number" = 1 ]; then cat /dev/zero > fill.bin 2>/dev/null; echo silent > "$voice"; else rm -f fill.bin; {HONEST}; fi"""
STEPS = f"""if [ "$number" = 2 ]; then {HANGS}; fi
{NEXT_TASK}"""
NEVER = f"""if [ "$number" = 2 ]; then {HANGS}; fi
date >> notes.txt; echo silent > "$voice" """

FULL: Words = (
    ("text", "{chat} I have read most of the project."),
    ("error", "API Error: 400 prompt is too long: 214365 tokens > 200000 maximum"),
)

ITERATIONS = 4
"""That a harness is given where the count matters."""

FAULTS: tuple[Act, ...] = (
    Act(
        id="honest",
        promise=Promise.CONTROL,
        does="does the work and says so",
        judgement=Judgement.ACCEPTS,
        shell=HONEST,
        quick=True,
    ),
    Act(
        id="honest-3",
        promise=Promise.CONTROL,
        does="does one of three tasks in each session",
        judgement=Judgement.ACCEPTS,
        shell=NEXT_TASK,
        voices={"silent": (("text", "{chat} One more task is done."),), "one": CLAIM},
        tasks=3,
    ),
    Act(
        id="hang",
        promise=Promise.HANGS,
        does="falls silent and never ends",
        judgement=Judgement.ENDS,
        shell=HANGS,
        quick=True,
    ),
    Act(
        id="hang-stubborn",
        promise=Promise.HANGS,
        does="never ends, and ignores INT, TERM and HUP",
        judgement=Judgement.ENDS,
        shell=STUBBORN,
    ),
    Act(
        id="daemon",
        promise=Promise.ORPHANS,
        does="does the work and leaves a process without environment, in a session of its own",
        judgement=Judgement.CLEARS,
        shell=DAEMON,
        quick=True,
    ),
    *(
        Act(
            id=f"orphan-{name}",
            promise=Promise.ORPHANS,
            does=f"{does} when the harness gets {interruption.value}",
            judgement=Judgement.CLEARS,
            shell=shell,
            interruption=interruption,
            quick=name == "kill",
        )
        for name, interruption, does, shell in (
            ("int", Interruption.INT, "runs a tool in a session of its own", HANGS),
            ("term", Interruption.TERM, "runs a tool in a session of its own", HANGS),
            ("kill", Interruption.KILL, "runs a tool in a session of its own", HANGS),
            ("int-stubborn", Interruption.INT, "ignores signals", STUBBORN),
            ("term-stubborn", Interruption.TERM, "ignores signals", STUBBORN),
        )
    ),
    Act(
        id="limit",
        promise=Promise.LIMITS,
        does=f"is at its usage limit for {LIMIT_SECONDS} seconds and says when that resets; then does the work",
        judgement=Judgement.WAITS,
        shell=LIMITED,
        voices={"limited": (("limit", "You've hit your 5-hour limit · resets {clock}"),)},
        quick=True,
    ),
    Act(
        id="overflow",
        promise=Promise.OVERFLOW,
        does="works until its context is full and fails, once and whenever that session is resumed; then does the work",
        judgement=Judgement.RECOVERS,
        shell=OVERFLOWS,
        voices={"overflow": FULL},
        quick=True,
    ),
    Act(
        id="overflow-2",
        promise=Promise.OVERFLOW,
        does="fails so twice in a row",
        judgement=Judgement.RECOVERS,
        shell=OVERFLOW_SECOND,
        voices={"overflow": FULL},
    ),
    Act(
        id="flood",
        promise=Promise.FLOOD,
        does="prints 200 MB, half of it one line, and does the work",
        judgement=Judgement.BOUNDED,
        shell=FLOODS,
        floods=True,
    ),
    Act(
        id="disk",
        promise=Promise.DISK,
        does="fills the disk in its first session; the next one, or the user, makes room, and it does the work",
        judgement=Judgement.RESTARTS,
        shell=FILLS,
        voices={"silent": (("text", "{chat} There is more to do."),)},
        is_full=True,
    ),
    Act(
        id="resume",
        promise=Promise.RESUME,
        does="does one of three tasks in each session; the harness is killed in the second, and a user commits meanwhile",
        judgement=Judgement.RESUMES,
        shell=STEPS,
        voices={"silent": (("text", "{chat} One more task is done."),), "one": CLAIM},
        tasks=3,
        interruption=Interruption.CRASH,
        quick=True,
    ),
    Act(
        id="resume-limit",
        promise=Promise.RESUME,
        does=f"never finishes; of {ITERATIONS} iterations the second is killed",
        judgement=Judgement.COUNTS,
        shell=NEVER,
        voices={"silent": (("text", "{chat} There is more to do."),)},
        marks=False,
        interruption=Interruption.CRASH,
    ),
)
