"""How the agent learns what to say when the work is done: a prompt that does not name the tag would never end."""

from __future__ import annotations

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.claims import any_tag_claims, find_tags
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.state import LoopState
from ralph.values import dataclass


@dataclass(frozen=True, slots=True)
class Completion:
    """The claim that ends a run: ``<tag>expected</tag>``.

    ``is_hinted``: a prompt that does not name it gets a line that does. ``first_only``: only in the first iteration,
    for the later prompts of its style name it themselves.
    """

    tag: str
    expected: str
    is_hinted: bool = True
    first_only: bool = False

    @property
    def words(self) -> str:
        return f"<{self.tag}>{self.expected.strip()}</{self.tag}>"

    @property
    def line(self) -> str:
        return f"When everything is done and checked, output {self.words}."

    def is_named_in(self, prompt: str) -> bool:
        return any_tag_claims(find_tags(prompt, self.tag), self.tag, self.expected)

    def lacks_line(self, prompt: str) -> bool:
        return self.is_hinted and not self.is_named_in(prompt)

    def doubt(self, prompt: str) -> str:
        """Why the agent may never claim anything; empty: it is told how."""
        named = find_tags(prompt, self.tag)
        if self.is_named_in(prompt) or (self.is_hinted and not named):
            return ""
        if named:
            other = f"<{self.tag}>{named[0].content[:40]}</{self.tag}>"
            return f"the prompt names {other}, but this run waits for {self.words}; change one of them"
        return f"the prompt does not name the completion tag; tell the agent to output {self.words} when everything is done"

    def advice(self, state: LoopState, assignment: Assignment) -> tuple[Feedback, ...]:
        """For the next prompt. Work that passes without a claim is not told that something is wrong with it."""
        if state.green:
            return (
                Feedback(
                    "The previous session did not say that the work is done, and all checks pass. If nothing is left,"
                    f" output {self.words}; otherwise continue."
                ),
            )
        is_due = not (self.first_only and state.iteration)
        return (Feedback(self.line),) if is_due and self.lacks_line(assignment.objective) else ()
