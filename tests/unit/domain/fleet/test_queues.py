from __future__ import annotations

from ralph.domain.fleet import queues


def test_a_worker_looks_under_all_combinations_of_its_labels() -> None:
    assert queues.label_queues(["gpu", "linux"]) == (
        queues.label_queue(["linux", "gpu"]),
        queues.label_queue(["gpu"]),
        queues.label_queue(["linux"]),
        queues.ANY_QUEUE,
    )
    assert queues.label_queues([]) == (queues.ANY_QUEUE,)
