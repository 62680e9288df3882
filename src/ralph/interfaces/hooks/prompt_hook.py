"""UserPromptSubmit: ``/ralph:loop`` and ``/ralph:cancel``, done here because the model might not do them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph.interfaces.hooks.protocol import Answer, HookEvent

PREFIX = "/ralph:"


def take_prompt(event: HookEvent) -> Answer | None:
    prompt = event.text("prompt")
    if not prompt.lstrip().startswith(PREFIX):
        return None
    from ralph.domain.promise.session_loop import loop_command

    command = loop_command(prompt)
    if command is None:
        return None
    name, arguments = command
    return _start(event, arguments) if name == "loop" else _cancel(event)


def _start(event: HookEvent, arguments: str) -> Answer:
    from time import gmtime, strftime

    from ralph.domain.promise.session_loop import in_the_way, loop_request, opening, started_loop
    from ralph.interfaces.hooks.holders import run_under_way, session_process
    from ralph.interfaces.hooks.loop_files import loop_file, loop_places, read_loop, write_loop
    from ralph.interfaces.hooks.places import project_of
    from ralph.interfaces.hooks.protocol import add_context, block

    request = loop_request(arguments)
    if isinstance(request, str):
        return block(f"ralph loop: {request}")
    if not event.starts:
        message = "the session has no working directory"
        raise ValueError(message)
    project = project_of(event.starts[0], event.environ)
    if project is None:
        return block("ralph loop: the project belongs to another user; `ralph status` says more")
    path = loop_file(event)
    run = run_under_way(project)
    if reason := in_the_way(read_loop(path), event.session, run=run):
        return block(f"ralph loop: {reason}")
    now = strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime())
    state = started_loop(request, session=event.session, started_at=now, process=session_process())
    write_loop(path or loop_places(event)[0], state)
    return add_context("UserPromptSubmit", opening(state))


def _cancel(event: HookEvent) -> Answer:
    """Without asking the model: there is nothing for it to do."""
    import os

    from ralph.domain.promise.session_loop import SESSION_KEY
    from ralph.interfaces.hooks.loop_files import loop_file, read_loop
    from ralph.interfaces.hooks.protocol import block

    path = loop_file(event)
    state = read_loop(path)
    if path is None or state is None or not state.active:
        return block("ralph loop: there is none here.")
    if SESSION_KEY not in state.extra:
        return block("ralph loop: this one belongs to a run of `ralph`; end it with `ralph stop`.")
    os.unlink(path)  # noqa: PTH108
    return block(f"ralph loop: cancelled at iteration {state.iteration} of {state.max_iterations}.")
