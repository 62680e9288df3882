"""What a delivery does for a branch, a record and a forge as it finds them: real git, and a forge in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.delivery.memory_forge import MemoryForge

from ralph.domain.delivery.facts import PullState
from ralph.domain.delivery.progress import Asking, Ended, Fixing, Progress, Waiting
from ralph.domain.loop.events import Warned
from ralph.engine.delivery.delivery import Delivery
from ralph.engine.delivery.ports import Proven
from ralph.errors import GitFailed, ServiceAway, ServiceRefused

from .delivered import PROOF, Bench, SeenBranch, git, run


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    made = Bench(tmp_path)
    made.forge.on_push.append(lambda branch, commit: check(made.forge, branch, commit, "success"))
    return made


def check(forge: MemoryForge, branch: str, commit: str, conclusion: str) -> None:
    if branch == "feature":
        forge.check(commit, "build", conclusion)


def red(bench: Bench) -> None:
    """From now on every push is red."""
    bench.forge.on_push[:] = [lambda branch, commit: check(bench.forge, branch, commit, "failure")]


def green(bench: Bench) -> None:
    bench.forge.on_push[:] = [lambda branch, commit: check(bench.forge, branch, commit, "success")]


def shipped(bench: Bench) -> Bench:
    assert isinstance(bench.advance(), Ended)
    return bench


def works(bench: Bench, delivery: Delivery, progress: Progress, files: dict[str, str] | None = None) -> str:
    """A session that is accepted; without ``files``, one that found nothing to change."""
    assert isinstance(progress, Fixing), progress
    delivery.hand_over(progress, tip=bench.repository.tip)
    if files:
        bench.repository.commit(files, "Fix it")
    delivery.accept(bench.repository.tip, (PROOF,))
    return bench.repository.tip


def asked(progress: Progress) -> str:
    assert isinstance(progress, Asking), progress
    return f"{progress.reason} | {progress.hint}"


# --- the whole way ---


def test_green_at_once(bench: Bench) -> None:
    ended = bench.advance()

    assert ended == Ended("ready to be merged: every check passed")
    (pull,) = bench.forge.pulls.values()
    assert (pull.title, pull.head) == ("Add the work", bench.repository.tip)
    assert "make test  →  exit code 0" in pull.body
    assert bench.proofs == [bench.repository.tip]


def test_what_is_proven_and_pushed_is_not_again(bench: Bench) -> None:
    shipped(bench)

    assert isinstance(bench.advance(), Ended)

    assert len(bench.proofs) == 1
    assert bench.forge.asked.count("open") == bench.forge.asked.count("find") == 1
    assert "describe" not in bench.forge.asked


def test_guardrails_that_fail_are_a_session_s_work_before_anything_is_pushed(bench: Bench) -> None:
    bench.failing = ["test_add failed"]
    delivery = bench.delivery()

    progress = bench.advance(delivery)

    assert isinstance(progress, Fixing)
    assert "test_add failed" in progress.objective
    assert not bench.repository.remote_tip()
    works(bench, delivery, progress, {"work.txt": "2\n"})
    assert isinstance(bench.advance(delivery), Ended)
    assert bench.forge.pulls[1].head == bench.repository.tip


def test_a_forge_that_is_away_is_waited_for_ever_longer(bench: Bench) -> None:
    bench.forge.fail(
        "find", ServiceAway("no answer"), ServiceAway("no answer"), ServiceAway("limited", after=42.0)
    )
    delivery = bench.delivery()

    waits = [bench.advance(delivery) for _ in range(3)]

    assert all(isinstance(wait, Waiting) and not wait.for_people for wait in waits)
    first, second, third = (wait.seconds for wait in waits if isinstance(wait, Waiting))
    assert first < second
    assert third == 42.0
    assert isinstance(bench.advance(delivery), Ended)


def test_there_is_nothing_to_deliver(bench: Bench) -> None:
    bench.repository.git("reset", "-q", "--hard", "main")

    ended = bench.advance()

    assert isinstance(ended, Ended)
    assert "main has every commit of feature" in ended.reason
    assert not bench.forge.pulls


# --- what a session committed and nobody accepted ---


def test_what_was_denied_is_not_pushed_although_the_guardrails_pass(bench: Bench) -> None:
    red(bench)
    delivery = bench.delivery()
    first = bench.repository.tip
    fixing = bench.advance(delivery)
    assert isinstance(fixing, Fixing)
    delivery.hand_over(fixing, tip=first)
    bench.repository.commit({"ci.yml": "weaker\n"}, "Make CI weaker")
    run(delivery.leave())

    for again in (delivery, bench.delivery()):  # in this process, and in the next
        assert isinstance(bench.advance(again), Fixing)
        assert bench.repository.remote_tip() == first
        assert bench.proofs == [first]

    green(bench)
    fixed = works(bench, delivery, bench.advance(delivery), {"ci.yml": "as it was\n"})
    assert isinstance(bench.advance(delivery), Ended)
    assert bench.repository.remote_tip() == fixed


def test_a_denied_session_is_not_needed_if_the_pushed_commit_is_green_by_now(bench: Bench) -> None:
    red(bench)
    delivery = bench.delivery()
    first = bench.repository.tip
    fixing = bench.advance(delivery)
    assert isinstance(fixing, Fixing)
    delivery.hand_over(fixing, tip=first)
    bench.repository.commit({"work.txt": "2\n"})
    bench.forge.check(first, "build", "success")  # a person ran it again
    bench.forge.check(first, "build", "success")
    bench.forge.runs = [each for each in bench.forge.runs if str(each.state) != "failed"]

    assert isinstance(bench.advance(delivery), Ended)
    assert bench.repository.remote_tip() == first


def test_before_there_is_a_pull_request_a_denied_session_is_told_the_same_again(bench: Bench) -> None:
    bench.failing = ["test_add failed"]
    delivery = bench.delivery()
    fixing = bench.advance(delivery)
    assert isinstance(fixing, Fixing)
    delivery.hand_over(fixing, tip=bench.repository.tip)
    bench.repository.commit({"work.txt": "2\n"})

    again = bench.advance(bench.delivery())

    assert isinstance(again, Fixing)
    assert again.objective == fixing.objective
    assert not bench.repository.remote_tip()


def test_what_the_user_commits_after_a_denied_session_needs_no_session(bench: Bench) -> None:
    red(bench)
    delivery = bench.delivery()
    fixing = bench.advance(delivery)
    assert isinstance(fixing, Fixing)
    delivery.hand_over(fixing, tip=bench.repository.tip)
    run(delivery.leave())  # it was denied, and had committed nothing
    green(bench)
    mine = bench.repository.commit({"work.txt": "mine\n"})

    assert isinstance(bench.advance(bench.delivery()), Ended)
    assert bench.repository.remote_tip() == mine


def test_a_commit_is_not_proven_by_files_that_are_not_in_it(bench: Bench) -> None:
    (bench.repository.root / "work.txt").write_text("not committed\n")

    assert "files here are not committed, so the commit cannot be proven: work.txt" in asked(bench.advance())
    assert not bench.proofs
    assert not bench.repository.remote_tip()


def test_new_files_that_git_does_not_know_hinder_no_proof(bench: Bench) -> None:
    (bench.repository.root / ".coverage").write_text("data")

    shipped(bench)


# --- a session that finds nothing to change ---


def test_nothing_to_change_is_answered_and_not_asked_again(bench: Bench) -> None:
    shipped(bench)
    bench.forge.comment_on_line("colleague", "why?", number=1, path="work.txt", line=1)
    delivery = bench.delivery()

    works(bench, delivery, bench.advance(delivery))

    assert isinstance(bench.advance(delivery), Ended)
    ((_, _, text),) = bench.forge.answers
    assert "found nothing to change" in text
    assert "Addressed" not in text
    assert "after it was opened" not in bench.forge.pulls[1].body


def test_a_red_check_for_which_nothing_can_be_changed_is_run_again_once_and_then_a_person_s(
    bench: Bench,
) -> None:
    red(bench)
    bench.forge.on_rerun = lambda again: bench.forge.finish(again.id, "failure")
    delivery = bench.delivery()
    works(bench, delivery, bench.advance(delivery))

    assert isinstance(bench.advance(delivery), Waiting)
    assert "build failed again, and a session found nothing to change" in asked(bench.advance(delivery))
    assert bench.forge.asked.count("rerun") == 1


def test_a_red_check_that_passes_when_run_again_is_green_and_called_flaky(bench: Bench) -> None:
    red(bench)
    bench.forge.on_rerun = lambda again: bench.forge.finish(again.id, "success")
    delivery = bench.delivery()
    works(bench, delivery, bench.advance(delivery))

    assert isinstance(bench.advance(delivery), Waiting)
    ended = bench.advance(delivery)
    assert isinstance(ended, Ended)
    assert "(build is flaky)" in ended.reason


# --- pushing ---


def test_nothing_of_a_person_s_is_overwritten(bench: Bench) -> None:
    shipped(bench)
    theirs = bench.repository.push_by_someone("feature", {"theirs.txt": "1\n"})
    bench.repository.commit({"work.txt": "2\n"})

    told = asked(bench.advance())

    assert f"someone else pushed {theirs[:12]} to feature" in told
    assert bench.repository.remote_tip() == theirs


def test_a_person_who_is_faster_by_a_moment_wins(bench: Bench) -> None:
    delivery = bench.delivery()
    shipped(bench)
    bench.repository.commit({"work.txt": "2\n"})
    theirs: list[str] = []

    def push() -> None:
        theirs.append(bench.repository.push_by_someone("feature", {"theirs.txt": "1\n"}))

    assert isinstance(delivery.branch, SeenBranch)
    delivery.branch.before_push = push

    assert theirs or "someone else pushed" in asked(bench.advance(delivery))
    assert bench.repository.remote_tip() == theirs[0]


def test_a_push_of_a_killed_process_that_arrives_late_is_one_s_own(bench: Bench) -> None:
    delivery = bench.delivery()
    shipped(bench)
    late = bench.repository.commit({"work.txt": "2\n"})

    def push() -> None:
        bench.repository.git("push", "-q", str(bench.repository.remote), "feature")
        bench.forge.push("feature", late)

    assert isinstance(delivery.branch, SeenBranch)
    delivery.branch.before_push = push

    assert isinstance(bench.advance(delivery), Ended)
    assert bench.memory.kept.pushed == late


def test_what_a_person_took_back_stays_so(bench: Bench) -> None:
    shipped(bench)
    first = bench.repository.tip
    bench.repository.commit({"work.txt": "2\n"})
    shipped(bench)
    git(bench.repository.remote, "update-ref", "refs/heads/feature", first)
    bench.forge.push("feature", first)

    told = asked(bench.advance())

    assert f"someone reset feature on the remote to {first[:12]}" in told
    assert bench.repository.remote_tip() == first

    bench.repository.git("reset", "-q", "--hard", first)  # whoever agrees
    assert isinstance(bench.advance(), Ended)


def test_after_a_pull_it_continues(bench: Bench) -> None:
    shipped(bench)
    bench.repository.commit({"work.txt": "2\n"})
    theirs = bench.repository.push_by_someone("feature", {"theirs.txt": "1\n"})
    asked(bench.advance())

    bench.repository.git("pull", "-q", "--no-rebase", "--no-edit", str(bench.repository.remote), "feature")

    assert isinstance(bench.advance(), Ended)
    assert bench.repository.remote_tip() == bench.repository.tip != theirs


def test_what_the_user_amended_replaces_what_ralph_pushed(bench: Bench) -> None:
    shipped(bench)
    bench.repository.git("commit", "-q", "--amend", "-m", "Better words")

    assert isinstance(bench.advance(), Ended)
    assert bench.repository.remote_tip() == bench.repository.tip


def test_a_branch_that_is_gone_there_is_not_brought_back_unasked(bench: Bench) -> None:
    shipped(bench)
    git(bench.repository.remote, "update-ref", "-d", "refs/heads/feature")
    bench.repository.commit({"work.txt": "2\n"})

    assert "someone deleted feature on the remote" in asked(bench.advance())
    assert not bench.repository.remote_tip()


def test_the_remote_refuses(bench: Bench) -> None:
    hook = bench.repository.remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\necho 'error: GH006: Protected branch update failed' >&2\nexit 1\n")
    hook.chmod(0o755)

    told = asked(bench.advance())

    assert "feature cannot be pushed" in told
    assert "GH006" in told


# --- one pull request ---


def test_one_that_was_opened_just_before_a_kill_is_completed(bench: Bench) -> None:
    bench.order = replace(bench.order, labels=("ready",))
    delivery = bench.delivery()
    bench.forge.fail("open", ServiceAway("killed before anything was asked"))
    assert isinstance(bench.advance(delivery), Waiting)
    bench.forge._create(_wanted(bench))

    assert isinstance(bench.advance(bench.delivery()), Ended)

    assert len(bench.forge.pulls) == 1
    assert bench.forge.adorned[1].labels == ("ready",)


def _wanted(bench: Bench):  # type: ignore[no-untyped-def]
    from ralph.engine.delivery.ports import NewPullRequest

    return NewPullRequest(branch="feature", base="main", title="Add the work", body="")


def test_one_that_a_person_opened_is_taken_as_it_is(bench: Bench) -> None:
    bench.repository.git("push", "-q", str(bench.repository.remote), "feature")
    bench.forge.push("feature", bench.repository.tip)
    bench.forge._create(replace(_wanted(bench), title="Theirs", body="Their words."))

    shipped(bench)

    assert "open" not in bench.forge.asked
    (pull,) = bench.forge.pulls.values()
    assert pull.title == "Theirs"
    assert pull.body.startswith("Their words.\n\n<!-- ralph:receipt -->")


def test_new_work_on_a_branch_whose_pull_request_was_merged_gets_another_one(bench: Bench) -> None:
    shipped(bench)
    bench.forge.merge_by("colleague", 1)
    bench.forge.branches["main"] = bench.repository.remote_tip("main")
    git(bench.repository.remote, "update-ref", "-d", "refs/heads/feature")  # as forges do after a merge
    bench.repository.commit({"work.txt": "more\n"}, "More work")

    resumed = bench.advance()
    assert isinstance(resumed, Ended)
    assert resumed.is_merged
    assert "feature here has commits that were not in it" in resumed.reason

    delivery = bench.delivery()
    delivery.begin("another run")
    assert bench.advance(delivery) == Ended("ready to be merged: every check passed")
    assert bench.forge.pulls[2].head == bench.repository.tip


def test_what_a_person_closed_while_the_run_that_opened_it_worked_is_over(bench: Bench) -> None:
    red(bench)
    delivery = bench.delivery()
    delivery.begin("this run")
    fixing = bench.advance(delivery)
    bench.forge.close_by("colleague", 1)
    works(bench, delivery, fixing, {"work.txt": "2\n"})

    ended = bench.advance(delivery)

    assert isinstance(ended, Ended)
    assert not ended.is_good
    assert len(bench.forge.pulls) == 1


def test_a_new_run_does_not_open_again_what_a_person_closed(bench: Bench) -> None:
    shipped(bench)
    bench.forge.close_by("colleague", 1)
    delivery = bench.delivery()
    delivery.begin("another run")

    ended = bench.advance(delivery)

    assert ended == Ended("closed by colleague without being merged; feature keeps the work", is_good=False)
    assert len(bench.forge.pulls) == 1


def test_a_number_of_another_repository_is_not_believed(bench: Bench) -> None:
    shipped(bench)
    bench.memory.save(replace(bench.memory.kept, url="https://forge.test/fork/demo/pull/1", number=1))
    bench.forge.pulls[7] = replace(
        bench.forge.pulls.pop(1), number=7, url="https://forge.test/owner1/demo/pull/7"
    )
    bench.forge.pulls[1] = replace(bench.forge.pulls[7], number=1, branch="other", state=PullState.MERGED)

    assert bench.advance() == Ended("ready to be merged: every check passed")
    assert bench.memory.kept.number == 7


def test_someone_merged_it_while_a_session_worked(bench: Bench) -> None:
    red(bench)
    delivery = bench.delivery()
    fixing = bench.advance(delivery)
    bench.forge.merge_by("colleague", 1)
    works(bench, delivery, fixing, {"work.txt": "2\n"})

    ended = bench.advance(delivery)

    assert isinstance(ended, Ended)
    assert (ended.is_merged, ended.is_good) == (True, True)
    assert ended.reason.startswith("merged by colleague")
    assert ended.reason.endswith("; feature here has commits that were not in it")


# --- its text, and answers ---


def test_what_a_person_wrote_while_the_guardrails_ran_is_kept(bench: Bench) -> None:
    shipped(bench)
    bench.repository.commit({"work.txt": "2\n"})
    delivery, prove = bench.delivery(), bench._prove

    async def proving(commit: str):  # type: ignore[no-untyped-def]
        body = bench.forge.pulls[1].body
        await bench.forge.describe(1, body=f"Mine, above.\n\n{body}\nMine, below.")
        return await prove(commit)

    delivery.prove = proving

    assert isinstance(bench.advance(delivery), Ended)

    body = bench.forge.pulls[1].body
    assert body.startswith("Mine, above.\n\n")
    assert body.endswith("\nMine, below.")
    assert bench.repository.tip[:12] in body


def test_a_text_that_cannot_be_changed_keeps_nothing_from_being_merged(bench: Bench) -> None:
    shipped(bench)
    bench.repository.commit({"work.txt": "2\n"})
    bench.forge.fail("describe", ServiceRefused("body is too long"))

    shipped(bench)

    assert "#1: its text could not be changed: body is too long" in [
        event.message for event in bench.told if isinstance(event, Warned)
    ]


def test_an_answer_names_the_commit_of_the_session_whatever_was_pushed_with_it(bench: Bench) -> None:
    shipped(bench)
    bench.forge.comment_on_line("colleague", "rename it", number=1, path="work.txt", line=1)
    delivery = bench.delivery()
    fixed = works(bench, delivery, bench.advance(delivery), {"work.txt": "renamed\n"})
    bench.forge.fail("answer", ServiceAway("done, but the answer was lost"))
    assert isinstance(bench.advance(delivery), Waiting)
    bench.repository.commit({"more.txt": "1\n"}, "The user's own")

    shipped(bench)

    ((_, _, text),) = bench.forge.answers
    assert f"addressed this in {fixed};" in text


def test_an_answer_that_is_refused_is_told_and_not_tried_for_ever(bench: Bench) -> None:
    shipped(bench)
    bench.forge.comment_on_line("colleague", "rename it", number=1, path="work.txt", line=1)
    delivery = bench.delivery()
    works(bench, delivery, bench.advance(delivery), {"work.txt": "renamed\n"})
    bench.forge.fail("answer", ServiceRefused("the conversation is locked"))

    assert isinstance(bench.advance(delivery), Ended)

    warned = [event.message for event in bench.told if isinstance(event, Warned)]
    assert "#1: colleague could not be answered: the conversation is locked" in warned
    assert bench.forge.asked.count("answer") == 1


# --- a base that moves ---


def test_what_the_base_brought_is_taken_in_also_if_ralph_was_killed_just_then(bench: Bench) -> None:
    shipped(bench)
    bench.repository.push_by_someone("main", {"tests.py": "theirs\n"})
    delivery = bench.delivery()

    async def killed() -> None:
        raise KeyboardInterrupt

    delivery.rebase = killed
    with pytest.raises(KeyboardInterrupt):
        bench.advance(delivery)
    assert not bench.rebased

    assert isinstance(bench.advance(), Ended)

    assert bench.rebased == [bench.repository.tip], "later sessions do not answer for it"
    assert bench.repository.remote_tip() == bench.repository.tip
    assert "tests.py" in bench.repository.git("ls-files")


def test_a_conflict_is_a_session_s_and_is_begun_once(bench: Bench) -> None:
    shipped(bench)
    bench.repository.push_by_someone("main", {"work.txt": "theirs\n"})
    bench.forge.conflict(1)
    first = bench.advance()
    assert isinstance(first, Fixing)
    assert not first.is_fault
    delivery = bench.delivery()  # killed before the session, or in it

    again = bench.advance(delivery)

    assert isinstance(again, Fixing)
    assert "- work.txt" in first.objective
    assert "- work.txt" in again.objective
    assert len(bench.rebased) == 1
    delivery.hand_over(again, tip=bench.repository.tip)
    (bench.repository.root / "work.txt").write_text("both\n")
    commit = run(delivery.branch.commit_left("Fix it"))
    delivery.accept(commit, (PROOF,))
    bench.forge.conflict(1, is_mergeable=True)
    assert isinstance(bench.advance(delivery), Ended)
    assert len(bench.repository.git("rev-list", "--parents", "-n", "1", "HEAD").split()) == 3
    assert bench.repository.remote_tip() == commit


def test_a_conflict_does_not_mix_with_files_of_the_user(bench: Bench) -> None:
    shipped(bench)
    bench.repository.push_by_someone("main", {"work.txt": "theirs\n"})
    bench.forge.conflict(1)
    (bench.repository.root / "notes.txt").write_text("mine\n")

    assert "files here are not committed: notes.txt" in asked(bench.advance())
    assert not run(bench.delivery().branch.is_merging())


def test_what_a_denied_session_left_is_brought_to_an_end_before_the_base_is_merged(bench: Bench) -> None:
    red(bench)
    delivery = bench.delivery()
    fixing = bench.advance(delivery)
    assert isinstance(fixing, Fixing)
    delivery.hand_over(fixing, tip=bench.repository.tip)
    (bench.repository.root / "work.txt").write_text("half\n")
    run(delivery.leave())
    bench.repository.push_by_someone("main", {"work.txt": "theirs\n"})
    bench.forge.conflict(1)

    again = bench.advance(delivery)

    assert isinstance(again, Fixing)
    assert again.objective == fixing.objective


# --- where a session left the working tree ---


def test_a_branch_that_a_session_made_on_top_is_brought_back(bench: Bench) -> None:
    branch = bench.delivery().branch
    bench.repository.git("checkout", "-q", "-b", "fix")
    bench.repository.commit({"work.txt": "2\n"})
    (bench.repository.root / "more.txt").write_text("not committed\n")

    tip = run(branch.commit_left("Fix it"))

    assert bench.repository.git("branch", "--show-current") == "feature"
    assert tip == bench.repository.tip
    assert bench.repository.git("show", "HEAD:work.txt", "HEAD:more.txt").split() == ["2", "not", "committed"]


def test_a_branch_that_lacks_commits_is_not_taken_for_it(bench: Bench) -> None:
    branch = bench.delivery().branch
    bench.repository.git("checkout", "-q", "-b", "fix", "main")

    with pytest.raises(GitFailed, match="fix is checked out instead of feature, and lacks commits of it"):
        run(branch.commit_left("Fix it"))
    with pytest.raises(GitFailed, match="fix is checked out instead of feature"):
        run(branch.merge("main", message="Merge"))


def test_while_nothing_changes_the_remote_is_left_alone(bench: Bench) -> None:
    shipped(bench)
    moved = bench.repository.remote.rename(bench.repository.remote.with_name("moved.git"))

    assert isinstance(bench.advance(), Ended), "the forge says what the head is"
    moved.rename(bench.repository.remote)


def test_a_forge_that_is_away_is_told_once(bench: Bench) -> None:
    bench.forge.fail("find", *(ServiceAway("GitHub cannot be reached") for _ in range(2)))
    delivery = bench.delivery()

    waits = [bench.advance(delivery) for _ in range(2)]

    assert [type(one) for one in waits] == [Waiting, Waiting]
    warned = [event.message for event in bench.told if isinstance(event, Warned)]
    assert warned == ["GitHub cannot be reached; ralph tries again in 10s"]


def test_a_conflict_in_the_files_of_ci_is_left_to_a_person(bench: Bench) -> None:
    shipped(bench)
    name = ".gitlab-ci.yml"
    bench.repository.push_by_someone("main", {name: "theirs\n"})
    bench.repository.commit({name: "mine\n"})
    bench.forge.conflict(1)

    assert f"conflicts with main in {name}, which no session may change" in asked(bench.advance())
    assert bench.repository.git("status", "--porcelain") == "", "the tree is as it was"


def test_what_is_committed_while_the_guardrails_run_is_proven_before_it_is_pushed(bench: Bench) -> None:
    first = bench.repository.tip
    pushed: list[str] = []
    bench.forge.on_push.append(lambda branch, commit: pushed.append(commit))

    async def prove(commit: str) -> Proven:
        if not bench.proofs:
            bench.repository.commit({"work.txt": "late\n"}, "Meanwhile")
        bench.proofs.append(commit)
        return Proven(True, (PROOF,))

    delivery = bench.delivery()
    delivery.prove = prove
    bench.advance(delivery)
    bench.advance(delivery)

    assert pushed == [first, bench.repository.tip]
    assert bench.proofs == pushed, "each was proven first"


def test_another_branch_in_the_checkout_is_neither_proven_nor_worked_on(bench: Bench) -> None:
    bench.repository.git("checkout", "-q", "main")

    assert "feature is not checked out here any more" in asked(bench.advance())
    assert not bench.proofs
    assert not bench.repository.remote_tip()


def test_a_switched_checkout_gets_no_session(bench: Bench) -> None:
    shipped(bench)
    bench.forge.check(bench.repository.tip, "late", "failure")
    bench.repository.git("checkout", "-q", "-b", "next")

    assert "feature is not checked out here any more" in asked(bench.advance())


def test_a_pull_request_for_another_base_is_not_the_one_that_was_wanted(bench: Bench) -> None:
    shipped(bench)
    bench.repository.git("push", "-q", str(bench.repository.remote), "main:release")
    bench.forge.branches["release"] = bench.forge.branches["main"]
    bench.order = replace(bench.order, base="release", is_base_named=True)

    assert "#1 is for main, and not for release" in asked(bench.advance())


def test_a_proof_that_was_cut_short_blames_nobody(bench: Bench) -> None:
    delivery = bench.delivery()

    async def cut(commit: str) -> Proven:
        return Proven(False, told="stopped", reason="stopped", is_cut=True)

    delivery.prove = cut

    assert isinstance(bench.advance(delivery), Waiting)
    assert not bench.memory.kept.told
    assert not bench.repository.remote_tip()


def test_what_somebody_else_pushed_is_not_pushed_over_although_it_was_shipped(bench: Bench) -> None:
    theirs = bench.repository.tip
    bench.repository.git("push", "-q", str(bench.repository.remote), "feature")
    bench.forge.push("feature", theirs)
    bench.forge.check(theirs, "build", "success")
    shipped(bench)
    bench.repository.git("reset", "-q", "--hard", "main")
    bench.repository.commit({"work.txt": "mine alone\n"})

    assert "someone else pushed" in asked(bench.advance())
    assert bench.repository.remote_tip() == theirs


def test_files_of_the_user_are_no_part_of_a_fix(bench: Bench) -> None:
    shipped(bench)
    bench.forge.check(bench.repository.tip, "late", "failure")
    (bench.repository.root / "private.env").write_text("mine\n")

    assert "would become part of the fix: private.env" in asked(bench.advance())


def test_a_branch_that_a_denied_session_left_checked_out_is_left(bench: Bench) -> None:
    shipped(bench)
    bench.forge.check(bench.repository.tip, "late", "failure")
    delivery = bench.delivery()
    fixing = bench.advance(delivery)
    assert isinstance(fixing, Fixing)
    delivery.hand_over(fixing, tip=bench.repository.tip)
    bench.repository.git("checkout", "-q", "-b", "other")
    bench.repository.commit({"work.txt": "strayed\n"})

    run(delivery.leave())

    assert bench.repository.git("branch", "--show-current") == "feature"
    assert any("left other checked out" in event.message for event in bench.told if isinstance(event, Warned))


def test_a_resolution_is_kept_although_the_base_brought_files_of_the_ci(bench: Bench) -> None:
    """Killed when everything was resolved and staged, and nothing committed: git names all files of the merge then."""
    shipped(bench)
    bench.repository.push_by_someone("main", {"work.txt": "theirs\n", ".gitlab-ci.yml": "theirs\n"})
    bench.forge.conflict(1)
    assert isinstance(bench.advance(), Fixing)
    (bench.repository.root / "work.txt").write_text("both\n")
    bench.repository.git("add", "--all")

    again = bench.advance()

    assert isinstance(again, Fixing)
    assert (bench.repository.root / "work.txt").read_text() == "both\n"
    assert bench.repository.git("rev-parse", "-q", "--verify", "MERGE_HEAD")
