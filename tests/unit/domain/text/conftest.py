from __future__ import annotations

import pytest

from ralph.adapters.processes.sign_search import compiled_search
from ralph.domain.text.masking import Find


@pytest.fixture(scope="module", params=["in Python", "compiled"])
def find(request: pytest.FixtureRequest) -> Find | None:
    """What looks for signs of secrets in blocks: both kinds must pass the same tests."""
    if request.param == "in Python":
        return None
    compiled = compiled_search()
    if compiled is None:
        pytest.skip("it was not built here: there was no C compiler")
    return compiled
