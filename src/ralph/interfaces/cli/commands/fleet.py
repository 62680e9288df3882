"""``ralph fleet``: jobs on several machines, which move on when one of them is gone."""

from __future__ import annotations

from ralph.interfaces.cli.command_table import CommandTable

COMMANDS = {
    "demo": "Watch six jobs survive the loss of a worker; no account needed.",
    "worker": "Work on jobs on this machine until it is stopped.",
    "submit": "Submit a run, or the tasks of a file or a tracker, as jobs.",
    "status": "Show the jobs, those under way first.",
    "show": "Show each iteration of a job, and where its work is.",
    "logs": "Show what happened in a job, or follow it live.",
    "steer": "Add a note to the next prompt of a job.",
    "pause": "Pause a job after its current session.",
    "unpause": "Continue a paused job.",
    "stop": "Stop a job after its current step, or at once.",
    "retry": "Continue a job that has ended without being completed.",
    "schedule": "Submit a job at fixed times; list and remove schedules.",
    "limits": "Show and set what all jobs together may use.",
    "key": "Print a new key that encrypts what the server keeps.",
}
HELP = """Run loops on several machines. A job moves to another machine between two sessions, or when its machine is gone: its
code and its record are on the git remote, and where it stands is kept by a Temporal server. The server is found by Temporal's own
settings: TEMPORAL_ADDRESS, TEMPORAL_NAMESPACE, TEMPORAL_API_KEY, or a profile; by default localhost:7233.

\b
Examples:
  ralph fleet demo                            see it work on this machine
  ralph fleet worker --slots 4 --label linux  on each machine
  ralph fleet submit --repo URL -- run -f PROMPT.md --agent claude -m 20
  ralph fleet submit --repo URL tasks.yaml    one job per task
  ralph fleet status
  ralph fleet logs -f JOB
"""


command = CommandTable(
    "fleet",
    COMMANDS,
    package="fleet",
    homes=dict.fromkeys(("steer", "pause", "unpause", "stop", "retry"), "requests"),
    help=HELP,
)
