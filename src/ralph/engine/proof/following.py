"""What decides the commands besides themselves: the scripts that they run in turn, and what tests lean on."""

from __future__ import annotations

from ralph.domain.proof.protection import Protection, is_test
from ralph.engine.proof.ports import ProofStore
from ralph.values import replace


async def follow(protection: Protection, store: ProofStore) -> Protection:
    """With the scripts that the commands run in turn, and with what tests lean on, as both were when the work began.
    Raises GitFailed."""
    texts: dict[str, str | None] = {}
    wanted: set[str] = set()

    def read(path: str) -> str | None:
        if path not in texts and path in store.base.files:
            wanted.add(path)
        return texts.get(path)

    found = protection.following(read)
    while wanted:
        for path in wanted:
            texts[path] = await _text(store, path)
        wanted.clear()
        found = protection.following(read)
    return await _with_leaned_on(found, store)


async def _with_leaned_on(protection: Protection, store: ProofStore) -> Protection:
    paths = store.base.files.keys()
    if not any(map(is_test, paths)):
        return protection
    from ralph.domain.proof.leaning import (
        FRAMEWORK,
        IN_SETTINGS,
        IN_TESTS,
        NAMED_DATA,
        SETTINGS,
        data_of_tests,
        helpers_in,
        loaded_by,
    )

    named = [one for one in await store.find(NAMED_DATA, *IN_TESTS) if is_test(one[0])]
    helping = [one for one in await store.find(FRAMEWORK) if not is_test(one[0])]
    settings = dict.fromkeys(path for path, _ in await store.find(SETTINGS, *IN_SETTINGS))
    texts = {path: await _text(store, path) for path in settings}
    loaded = helpers_in(helping, paths) | loaded_by(texts, paths)
    doctests = protection.doctests or any("doctest" in text for text in texts.values())
    return replace(protection.leaning(loaded=loaded, data=data_of_tests(named, paths)), doctests=doctests)


async def _text(store: ProofStore, path: str) -> str:
    return (await store.content(store.base.files[path])).decode(errors="replace")
