"""The namespaces of a bubblewrap sandbox, and why they cannot be created here."""

from __future__ import annotations

import os
from pathlib import Path

from ralph.adapters.isolation.programs import ask
from ralph.engine.ports import ProcessRunner, Timeouts

NAMESPACES = (
    "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try",
    "--die-with-parent", "--new-session", "--cap-drop", "ALL",
)  # fmt: skip
_PATIENCE = Timeouts(total=20.0)


async def try_namespaces(program: str, runner: ProcessRunner) -> tuple[bool, str]:
    """Whether nested user namespaces can be disabled, and why no namespace can be created at all (empty: it can)."""
    for extra in (("--disable-userns",), ()):
        arguments = (*NAMESPACES, *extra, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc")
        code, _, said = await ask(runner, program, *arguments, "--", "/bin/sh", "-c", ":", timeouts=_PATIENCE)
        if code == 0:
            return bool(extra), ""
    why = (said or f"it ended with {code}").splitlines()[0].removeprefix("bwrap: ")
    return False, f"bwrap cannot create namespaces here: {why}{_advice(why)}"


def _advice(why: str) -> str:
    """The usual reasons, most frequent first."""
    if os.environ.get("RALPH_SANDBOX"):
        return " (this already is a sandbox)"
    restricted = Path("/proc/sys/kernel/apparmor_restrict_unprivileged_userns")
    if restricted.is_file() and restricted.read_text().strip() == "1":
        return " (AppArmor restricts user namespaces: allow them for bwrap in its profile)"
    disabled = Path("/proc/sys/kernel/unprivileged_userns_clone")
    if disabled.is_file() and disabled.read_text().strip() == "0":
        return " (kernel.unprivileged_userns_clone is 0)"
    return " (user namespaces may be switched off in this kernel or container)" if "ermission" in why else ""
