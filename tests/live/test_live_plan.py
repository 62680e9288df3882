"""The reviewed loop with the real Claude Code and the plugin's hooks: the cycle, the cap, no reviews, a kill."""

from __future__ import annotations

import signal

import pytest

from ralph.testing.model import Step

from .conftest import CHOSEN
from .harness import LiveProject, ended, wait_for
from .plans import LivePlan, marker, stories

# The plugin is Claude Code's: no other agent has anything to do with it.
pytestmark = pytest.mark.parametrize("project", sorted({"claude"} & set(CHOSEN)), indirect=True)
RUN = ("plan", "run", "--no-sandbox")
LIMIT_REACHED = 1


@pytest.fixture
def plan(project: LiveProject) -> LivePlan:
    return LivePlan(project)


def test_two_stories_go_through_review_fix_and_approval(plan: LivePlan) -> None:
    steps = [
        *plan.implement("US-001"),
        *plan.refuse("US-001", 1, "one.txt says too little"),
        *plan.mend("US-001"),
        *plan.approve("US-001", 2),
        *plan.implement("US-002"),
        *plan.approve("US-002", 1),
    ]
    with plan.project.model(*steps) as model:
        plan.write(model.url, *stories("US-001", "US-002"))
        err = plan.ralph(*RUN, check=0)
        asked = [request.text for request in model.main_requests]

    assert plan.state("US-001") == (True, "approved", 2)
    assert plan.state("US-002") == (True, "approved", 1)
    assert "2 stories approved; reviews: US-001 2, US-002 1" in err
    assert plan.modes() == ["implement", "review", "review-fix", "review", "implement", "review"]
    assert len(asked) == len(steps), "no hook had anything to say"
    assert any("one.txt says too little" in text for text in asked[4:6])
    assert not marker(plan.project).exists()
    assert plan.project.git("branch", "--show-current") == "ralph/live\n"
    assert plan.project.git("status", "--porcelain") == ""


def test_who_implements_cannot_approve_not_for_the_hook_and_not_for_the_engine(plan: LivePlan) -> None:
    steps = plan.implement("US-001", reviewStatus="approved", passes=True, reviewCount=1)
    with plan.project.model(*steps) as model:
        plan.write(model.url, *stories("US-001"), CLAUDE_CODE_STOP_HOOK_BLOCK_CAP="2")
        plan.ralph(*RUN, "-n", "1", check=LIMIT_REACHED)
        asked = [request.text for request in model.main_requests]

    refusal = "Implement iterations cannot set passes=true or approve stories"
    # The shell call, the stop that is refused, the model that insists, and insists.
    assert [text.count(refusal) > 0 for text in asked] == [False, False, True, True]
    assert plan.state("US-001") == (False, None, 0)
    assert len(plan.project.git("log", "--format=%s").splitlines()) > 2, "the engine's correction is a commit"


def test_uncommitted_work_is_noticed_in_time(plan: LivePlan) -> None:
    """The hook tells the session, which commits; the engine finds nothing to complain about."""
    built = plan.implement("US-001")[0].shell
    assert built is not None
    steps = [
        Step(shell=built.partition(" && git add")[0]),
        Step(text="I am done."),
        Step(shell="git add -A && git commit -q -m 'feat: [US-001] - built'"),
        Step(text="Now it is committed."),
    ]
    with plan.project.model(*steps) as model:
        plan.write(model.url, *stories("US-001"))
        plan.ralph(*RUN, "-n", "1", check=LIMIT_REACHED)
        asked = [request.text for request in model.main_requests]

    assert len(asked) == len(steps)
    assert "There are uncommitted changes" in asked[2]
    assert plan.state("US-001") == (False, "needs_review", 0)
    assert plan.project.git("log", "-1", "--format=%s") == "feat: [US-001] - built\n"


def test_at_the_cap_a_story_is_approved_with_a_note(plan: LivePlan) -> None:
    steps = [*plan.implement("US-001"), *plan.refuse("US-001", 1, "it could be better")]
    with plan.project.model(*steps) as model:
        plan.write(model.url, *stories("US-001"))
        err = plan.ralph(*RUN, "--review-cap", "1", check=0)

    assert plan.state("US-001") == (True, "approved", 1)
    assert plan.story("US-001")["reviewFeedback"].startswith("[AUTO-APPROVED AT CAP]")
    assert "approved at the cap: US-001" in err


def test_without_reviews_who_implements_passes_the_story(plan: LivePlan) -> None:
    steps = [
        *plan.implement("US-001", reviewStatus=None, passes=True),
        *plan.implement("US-002", reviewStatus=None, passes=True),
    ]
    with plan.project.model(*steps) as model:
        plan.write(model.url, *stories("US-001", "US-002"))
        err = plan.ralph(*RUN, "--skip-review", check=0)
        assert len(model.main_requests) == len(steps), "no hook had anything to say"

    assert plan.state("US-001") == plan.state("US-002") == (True, None, 0)
    assert "2 stories done, reviews skipped" in err


def test_a_killed_run_is_taken_up_where_it_was(plan: LivePlan) -> None:
    waits = Step(shell="touch started; while [ ! -f released ]; do sleep 0.1; done")
    steps = [
        *plan.implement("US-001"),
        waits,
        *plan.approve("US-001", 1),
        *plan.implement("US-002"),
        *plan.approve("US-002", 1),
    ]
    with plan.project.model(*steps) as model:
        plan.write(model.url, *stories("US-001", "US-002"))
        with plan.running(*RUN) as process:
            wait_for((plan.project.root / "started").exists, "the review's tool call", process)
            process.kill()
            ended(process, -signal.SIGKILL)
        plan.project.assert_nothing_left()
        assert marker(plan.project).exists(), "nobody was left to remove it"
        (plan.project.root / "started").unlink()
        err = plan.ralph("resume", check=0)

    assert plan.state("US-001") == plan.state("US-002") == (True, "approved", 1)
    assert "2 stories approved; reviews: US-001 1, US-002 1" in err
    assert not marker(plan.project).exists()
