"""Just enough GraphQL for a front: reads a document, and answers it from plain values. A field that is not there is an error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

IN_PYTHON: Final = {"id": "key", "filter": "chosen", "input": "given", "labelId": "label"}
"""What resolvers call arguments whose names mean something else in Python."""
TOKEN: Final = re.compile(r'\.\.\.|[{}()\[\]:$!=|@]|"(?:[^"\\]|\\.)*"|-?\w[\w.]*')


class Invalid(Exception):
    """A query that the schema does not allow."""


class Failed(Exception):
    """What a resolver refuses. ``code``, as in the extensions of an error."""

    def __init__(self, message: str, code: str = "INPUT_ERROR") -> None:
        super().__init__(message)
        self.code = code


@dataclass(slots=True)
class Selected:
    """A field, with its arguments, and what is wanted of its value. ``spread``: the name of a fragment instead."""

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    inner: list[Selected] | None = None
    spread: str = ""


@dataclass(slots=True)
class Document:
    operation: str  # query or mutation
    name: str
    fields: list[Selected]
    fragments: dict[str, list[Selected]]


def read(text: str, variables: Mapping[str, Any]) -> Document:
    reader = _Reader(TOKEN.findall(text), variables)
    found = Document("", "", [], {})
    while reader.left:
        kind = reader.take()
        if kind == "fragment":
            name = reader.take()
            reader.expect("on")
            reader.take()
            found.fragments[name] = reader.selection()
        elif kind in ("query", "mutation"):
            found.operation, found.name = kind, reader.take()
            reader.skip_definitions()
            found.fields = reader.selection()
        else:
            raise Invalid(f"Syntax Error: Unexpected {kind}")
    return found


class _Reader:
    def __init__(self, tokens: list[str], variables: Mapping[str, Any]) -> None:
        self._tokens = tokens
        self._variables = variables
        self._at = 0

    @property
    def left(self) -> bool:
        return self._at < len(self._tokens)

    def peek(self) -> str:
        return self._tokens[self._at] if self.left else ""

    def take(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def expect(self, token: str) -> None:
        if (found := self.take()) != token:
            raise Invalid(f"Syntax Error: Expected {token}, found {found}")

    def skip_definitions(self) -> None:
        if self.peek() == "(":
            while self.take() != ")":
                pass

    def selection(self) -> list[Selected]:
        self.expect("{")
        found: list[Selected] = []
        while self.peek() != "}":
            if self.peek() == "...":
                self.take()
                found.append(Selected("", spread=self.take()))
                continue
            one = Selected(self.take())
            if self.peek() == "(":
                one.arguments = dict(self._pairs("(", ")"))
            if self.peek() == "{":
                one.inner = self.selection()
            found.append(one)
        self.take()
        return found

    def _pairs(self, opening: str, closing: str) -> Iterator[tuple[str, Any]]:
        self.expect(opening)
        while self.peek() != closing:
            name = self.take()
            self.expect(":")
            yield name, self._value()
        self.take()

    def _value(self) -> Any:
        if self.peek() == "{":
            return dict(self._pairs("{", "}"))
        token = self.take()
        if token == "$":
            return self._variables.get(self.take())
        return token.strip('"') if token.startswith('"') else int(token) if token.isdigit() else token


def project(value: Any, document: Document, wanted: list[Selected] | None) -> Any:
    """What is wanted of a value: mappings whose entries are values, or functions of the field's arguments."""
    if wanted is None or value is None:
        if isinstance(value, Mapping):
            raise Invalid("a field of an object must have a selection of subfields")
        return value
    if isinstance(value, list):
        return [project(each, document, wanted) for each in value]
    found: dict[str, Any] = {}
    for one in wanted:
        if one.spread:
            found |= project(value, document, document.fragments[one.spread])
            continue
        if one.name not in value:
            raise Invalid(f'Cannot query field "{one.name}" here')
        entry = value[one.name]
        if callable(entry):
            entry = entry(**{IN_PYTHON.get(name, name): value for name, value in one.arguments.items()})
        elif one.arguments:
            raise Invalid(f'Unknown arguments of "{one.name}"')
        found[one.name] = project(entry, document, one.inner)
    return found


def connection(nodes: list[Any]) -> Callable[..., dict[str, Any]]:
    """A list of Relay's kind: ``first`` and ``after``, or ``last`` and ``before``."""

    def page(
        first: int | None = None,
        after: str | None = None,
        last: int | None = None,
        before: str | None = None,
    ) -> dict[str, Any]:
        begin, end = int(after or -1) + 1, int(before) if before else len(nodes)
        if last is not None:
            begin = max(begin, end - last)
        else:
            end = min(end, begin + (50 if first is None else first))
        return {
            "nodes": nodes[begin:end],
            "pageInfo": {
                "hasNextPage": end < len(nodes),
                "endCursor": str(end - 1) if end > begin else None,
                "hasPreviousPage": begin > 0,
                "startCursor": str(begin) if end > begin else None,
            },
        }

    return page
