"""What was changed, put together."""

from __future__ import annotations

from ralph.domain.views.changes import Changes, CommitLine, FileChange, combine_changes


def test_the_changes_of_several_runs_are_one() -> None:
    one = Changes(files=(FileChange("a", 1, 2),), commits=(CommitLine("1", "one"),), patch="p1")
    two = Changes(files=(FileChange("a", 3, 0), FileChange("b.png", None, None)), patch="p2", is_cut=True)
    both = combine_changes([one, Changes(note="nothing"), two])
    assert both.files == (FileChange("a", 4, 2), FileChange("b.png", None, None))
    assert (both.commits, both.patch, both.is_cut, both.note) == (one.commits, "p1\np2", True, "")
    assert combine_changes([Changes(note="nothing was changed")]).note == "nothing was changed"
