"""The prompts of a pipeline: what the role is told about the task, then the section on what "done" means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ralph.domain.loop.assignment import Assignment
from ralph.domain.loop.feedback import Feedback
from ralph.domain.loop.prompt import compose, fill
from ralph.domain.tasks.completion import CompletionCriteria
from ralph.domain.tasks.task import Task
from ralph.values import dataclass

STATUS = """
## Ralph Loop Status
- **Iteration**: {{ITERATION}}/{{MAX}}
- **Agent**: {{AGENT}}

## Task Outcome (What "Done" Means)
{{OUTCOME}}

## Acceptance Criteria
{{CRITERIA}}

## Your Completion Requirements

When you have GENUINELY completed this stage:

**Success Criteria for {{AGENT}}:**
{{DESCRIPTION}}

**To signal completion, output:**
```
<promise>{{PROMISE}}</promise>
```

**CRITICAL:**
- Only output the promise when ALL acceptance criteria are truly met
- Your completion will be verified using: {{METHOD}}
- False promises will be detected and the loop will continue
- If blocked, explain what's preventing completion
{{REJECTING}}
The loop will continue until genuine completion or iteration {{MAX}}.
"""
REJECTING = """- If the work of an earlier role is at fault, send it back: `<reject>what is wrong, and where</reject>`
"""
NO_SPEC_OUTCOME = "Complete the assigned task."
INSTRUCTIONS = """Do what your role is there for. If an earlier role made a mistake, send the task back with `<reject>…</reject>`."""


def template_with(generic: str, own: str) -> str:
    """A role's template: its own text, put into the generic one unless it describes the task itself."""
    if "{{DESCRIPTION}}" in own:
        return own
    return generic.replace("{{INSTRUCTIONS}}", own.strip() or INSTRUCTIONS)


def objective(template: str, task: Task, *, role: str, branch: str) -> str:
    """The template, filled with what is known about the task."""
    remarks = "\n".join(f"- {remark}" for remark in task.remarks)
    return fill(
        template,
        {
            "TASK_ID": task.id,
            "TITLE": task.title,
            "DESCRIPTION": task.description.strip() or task.title,
            "ROLE": role,
            "BRANCH": branch,
            "BASE": task.base_commit,
            "REMARKS": f"\n## Why it came back\n\n{remarks}\n" if remarks else "",
        },
    )


@dataclass(frozen=True, slots=True)
class RolePrompt:
    """A ``PromptStyle``: the subject of each assignment is a Task; ``criteria`` are those of its roles."""

    criteria: Mapping[str, CompletionCriteria]
    first_role: str

    def __call__(
        self, assignment: Assignment, feedback: Sequence[Feedback], *, iteration: int, maximum: int | None
    ) -> str:
        task = assignment.subject
        assert isinstance(task, Task)
        criteria = self.criteria[assignment.role]
        section = fill(
            STATUS,
            {
                "ITERATION": str(assignment.used + 1),
                "MAX": str(assignment.limit) if assignment.limit is not None else "unlimited",
                "AGENT": assignment.role,
                "OUTCOME": task.outcome or NO_SPEC_OUTCOME,
                "CRITERIA": "\n".join(f"- [ ] {one}" for one in task.acceptance_criteria),
                "DESCRIPTION": criteria.description,
                "PROMISE": criteria.promise,
                "METHOD": str(criteria.verification_method),
                "REJECTING": "" if assignment.role == self.first_role else REJECTING,
            },
        )
        return compose(assignment.objective.rstrip("\n") + "\n" + section, feedback)
