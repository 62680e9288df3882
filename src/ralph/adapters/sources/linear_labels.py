"""Labels on one issue, one at a time: whoever writes all of them at once undoes what another machine has just added."""

from __future__ import annotations

from ralph.adapters.online.problems import garbled
from ralph.adapters.online.shape import Shape
from ralph.adapters.sources.linear_api import LINEAR, LinearApi
from ralph.adapters.sources.linear_queries import ADD_LABEL, CREATE_LABEL, LABELS, REMOVE_LABEL
from ralph.errors import ServiceRefused

COLOR = "#5e6ad2"


class Labels:
    """Those of ralph. An issue is a shape with ``id``, ``team`` and ``labels``."""

    def __init__(self, api: LinearApi) -> None:
        self._api = api

    async def add(self, issue: Shape, name: str) -> None:
        if not _on(issue, name):
            label = await self._find(issue, name) or await self._create(issue, name)
            await self._api.change(ADD_LABEL, {"id": issue["id"].text, "label": label})

    async def remove(self, issue: Shape, name: str) -> None:
        for label in _on(issue, name):
            await self._api.change(REMOVE_LABEL, {"id": issue["id"].text, "label": label})

    async def _find(self, issue: Shape, name: str) -> str:
        """The team's, or that of the whole workspace; empty: there is none."""
        found = await self._api.ask(LABELS, {"filter": {"name": {"eqIgnoreCase": name}}})
        labels = found["issueLabels"]["nodes"]
        if not labels.is_list:
            raise garbled(wanted="a list of labels", service=LINEAR)
        usable = [
            label
            for label in labels
            if _is(label, name) and label["team"]["id"].text in ("", issue["team"]["id"].text)
        ]
        usable.sort(key=lambda label: not label["team"]["id"].text)
        return usable[0]["id"].text if usable else ""

    async def _create(self, issue: Shape, name: str) -> str:
        """Another machine may have made it in this moment."""
        wanted = {"name": name, "teamId": issue["team"]["id"].text, "color": COLOR}
        try:
            made = await self._api.change(CREATE_LABEL, {"input": wanted})
        except ServiceRefused:
            if found := await self._find(issue, name):
                return found
            raise
        if not made["issueLabel"]["id"].text:
            raise garbled(wanted="the new label", service=LINEAR)
        return made["issueLabel"]["id"].text


def _on(issue: Shape, name: str) -> list[str]:
    """The ids of what is on it under this name."""
    return [label["id"].text for label in issue["labels"]["nodes"] if _is(label, name)]


def _is(label: Shape, name: str) -> bool:
    return label["name"].text.casefold() == name.casefold() and bool(label["id"].text)
