"""The checks that failed in a project's runs, from the record."""

from __future__ import annotations

from collections.abc import Iterator

from ralph.adapters.storage.run_reader import RunReader
from ralph.adapters.storage.wire import restore
from ralph.domain.lessons.repeated_failures import Seen
from ralph.domain.loop.events import CheckEnded
from ralph.domain.loop.evidence import Verdict
from ralph.domain.loop.ledger import failure_line
from ralph.domain.text.exits import exit_words

_RUNS = "SELECT id FROM runs WHERE profile NOT IN ('draft', 'review') ORDER BY started_at, id"
"""What those two make is words for a person: their checks say nothing about the project's work."""
_CHECKS = (
    "SELECT seq, iteration, data FROM events WHERE run_id = ? AND seq > ?"
    " AND kind <> 'agent_acted' AND kind = 'check_ended' ORDER BY seq LIMIT ?"  # the first for its index
)
PAGE = 100


def failed_checks(reader: RunReader) -> Iterator[Seen]:
    """Run by run, the oldest first. What could not run to its end has judged nothing."""
    for (run_id,) in reader.query(_RUNS):
        after = 0
        while page := reader.query(_CHECKS, run_id, after, PAGE):
            for seq, iteration, data in page:
                after = seq
                event = restore(data)
                if not isinstance(event, CheckEnded):
                    continue
                result = event.result
                if result.verdict is Verdict.FAILED and result.required:
                    line = failure_line(result)
                    if not line and result.exit_code is not None:
                        line = exit_words(result.exit_code)
                    yield Seen(run_id, iteration, result.words, line)
