"""Which people may write to a repository on GitHub: only their words reach an agent."""

from __future__ import annotations

from ralph.adapters.online.api import Api, part
from ralph.adapters.online.problems import Unseen
from ralph.adapters.online.shape import Shape
from ralph.domain.delivery.texts import MARK, is_own

TRUST_SECONDS = 600.0
"""How long a person's rights are believed: they may be taken away while a pull request waits."""
_KNOWN = frozenset({"OWNER", "MEMBER", "COLLABORATOR"})
_SURELY = frozenset({"OWNER"})
_MAY_WRITE = frozenset({"write", "maintain", "admin"})
_MAY_NOT = frozenset({"none", "read", "pull", "triage"})
_REFUSED = ""
"""We may not ask for someone's rights."""


class People:
    """Who may write to one repository, and who we are. ``root``: its path in the API."""

    def __init__(self, api: Api, root: str) -> None:
        self._api = api
        self._root = root
        self._rights: dict[str, tuple[float, str]] = {}
        self._me: str | None = None

    async def me(self) -> str:
        """Empty: not known, as with the token of a workflow."""
        if self._me is None:
            try:
                self._me = (await self._api.get("user"))["login"].text
            except Unseen:
                self._me = ""
        return self._me

    async def is_trusted(self, said: Shape) -> bool:
        """Whether its author may write, for certain."""
        return await self.trusts(said) is True

    async def trusts(self, said: Shape) -> bool | None:
        """Whether its author may write: by what GitHub says of them here, and by their rights. Never a program.

        None: GitHub does not say. Half of an answer is no statement about anyone.
        """
        user, relation = said["user"], said["author_association"].text
        login = user["login"].text
        if is_program(user):
            return False
        if not login or not relation:
            return None
        if relation not in _KNOWN:
            return False
        rights = await self._rights_of(login)
        if rights in _MAY_WRITE or rights in _MAY_NOT:
            return rights in _MAY_WRITE
        return True if relation in _SURELY else None

    async def _rights_of(self, login: str) -> str:
        """Whatever else than rights it is: they are not known."""
        until, rights = self._rights.get(login, (0.0, _REFUSED))
        if self._api.now() < until:
            return rights
        try:
            found = await self._api.get(f"{self._root}/collaborators/{part(login)}/permission")
        except Unseen:
            rights = _REFUSED
        else:
            rights = found["permission"].text
            if not rights:
                return _REFUSED  # half of an answer: worth asking again
        self._rights[login] = (self._api.now() + TRUST_SECONDS, rights)
        return rights


def is_ours(said: Shape, me: str) -> bool:
    """Our mark, in words of our own: who quotes us, or copies the mark, has still said something."""
    author = said["user"]["login"].text
    own_words = "\n".join(
        line for line in said["body"].text.splitlines() if not line.lstrip().startswith(">")
    )
    return is_own(own_words) and (not me or author.lower() == me.lower())


def is_ralphs(said: Shape) -> bool:
    """Our mark where ralph puts it, whoever ralph is logged in as: on the last line."""
    last = said["body"].text.rstrip().rpartition("\n")[2].strip()
    return last.startswith(MARK) and last.endswith("-->")


def is_program(user: Shape) -> bool:
    """A bot or an app, and no person."""
    return user["type"].text == "Bot" or user["login"].text.endswith("[bot]")
