"""UserPromptSubmit: ``/ralph:loop`` and ``/ralph:cancel``, done here and not by the model, so that they are sure to happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph.interfaces.hooks.answers import Answer
    from ralph.interfaces.hooks.event import HookEvent

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
    from ralph.interfaces.hooks.answers import add_context, block
    from ralph.interfaces.hooks.loop_files import loop_file, new_loop_file, read_loop, write_loop

    request = loop_request(arguments)
    if isinstance(request, str):
        return block(f"ralph loop: {request}")
    path = loop_file(event)
    if reason := in_the_way(read_loop(path) if path is not None else None, event.session):
        return block(f"ralph loop: {reason}")
    state = started_loop(
        request, session=event.session, started_at=strftime("%Y-%m-%dT%H:%M:%S.000Z", gmtime())
    )
    write_loop(path or new_loop_file(event), state)
    return add_context("UserPromptSubmit", opening(state))


def _cancel(event: HookEvent) -> Answer:
    """The model is not asked: there is nothing for it to do."""
    from ralph.domain.promise.session_loop import SESSION_KEY
    from ralph.interfaces.hooks.answers import block
    from ralph.interfaces.hooks.loop_files import loop_file, read_loop, remove_loop

    path = loop_file(event)
    state = read_loop(path) if path is not None else None
    if path is None or state is None or not state.active:
        return block("ralph loop: there is none here.")
    if SESSION_KEY not in state.extra:
        return block("ralph loop: this one belongs to a run of `ralph`; end it with `ralph stop`.")
    remove_loop(path)
    return block(f"ralph loop: cancelled at iteration {state.iteration} of {state.max_iterations}.")
