"""What a process must find in a sandbox for its promises to be true, and what it did find."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ralph.values import dataclass, field

_KERNELS_WORDS = {  # of /proc/self/status: what it must be, and what it means if it is not
    "CapPrm": (0, "it has capabilities"),
    "CapBnd": (0, "it can get capabilities"),
    "NoNewPrivs": (1, "it can get more rights"),
    "Seccomp": (2, "system calls are not filtered"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """``hidden``: folders of the user that nobody inside may see or change. ``readonly``: what looks the same inside, but
    cannot be written. ``namespaces`` are the sandbox's own. ``variables`` are all that may be there."""

    workspace: str
    environ: Mapping[str, str] = field(
        default_factory=dict
    )  # ours: an agent's may change what the process says
    hidden: tuple[str, ...] = ()
    readonly: tuple[str, ...] = ()
    namespaces: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    limits: Mapping[str, int] = field(default_factory=dict)  # by the kernel's names
    is_writable: bool = True
    is_filtered: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """``did_answer``: it was our process that spoke. ``namespaces`` are others than ours."""

    did_answer: bool
    read: frozenset[str] = frozenset()  # of the hidden folders: where it read our file
    changed: frozenset[str] = frozenset()  # and where it changed it
    writable: frozenset[str] = frozenset()  # "." is the workspace
    namespaces: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    status: Mapping[str, int | None]
    limits: Mapping[str, int] = field(default_factory=dict)  # those that there are


def broken_promises(expected: Expected, seen: Seen) -> Iterator[str]:
    if not seen.did_answer:
        yield "nothing was started in it"
        return
    yield from (f"{folder} can be read" for folder in sorted(seen.read))
    yield from (f"{folder} can be written" for folder in sorted(seen.changed))
    yield from (f"{place} can be written" for place in expected.readonly if place in seen.writable)
    if expected.is_writable and "." not in seen.writable:
        yield "the workspace cannot be written"
    if shared := expected.namespaces - seen.namespaces:
        yield f"it has no namespace of its own for {', '.join(sorted(shared))}"
    if strange := seen.variables - expected.variables:
        yield f"variables came in that are not on the list: {', '.join(sorted(strange))}"
    for name, most in expected.limits.items():
        if seen.limits.get(name, most + 1) > most:
            yield f"there is no limit of {name}"
    for name, (needed, meaning) in _KERNELS_WORDS.items():
        if seen.status.get(name) != needed and (name != "Seccomp" or expected.is_filtered):
            yield meaning
