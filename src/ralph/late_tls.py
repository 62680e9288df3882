"""TLS that is loaded when it is first used: asyncio imports it for connections that most runs never make.

With it comes OpenSSL, an eighth of what an idle ralph needs of memory. Whoever uses TLS notices nothing of this. The standard
``LazyLoader`` would load at the second ``import ssl`` already, and asyncio has two.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import RLock
from types import ModuleType
from typing import Any

_NAMES = ("ssl", "asyncio.sslproto")  # the second makes a constant of the first when it is loaded
_lock = RLock()


def put_off() -> None:
    """From now on, for whatever was not loaded so far. Before asyncio is imported, or in vain."""
    if not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def load_tls() -> None:
    """Now, for whoever must not find another one on disk later."""
    from importlib import import_module

    for name in _NAMES:
        module = import_module(name)
        if isinstance(module, _Late):
            module.load()


class _Finder:
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in _NAMES else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


class _Loader:
    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Late(spec.name)

    def exec_module(self, module: _Late) -> None:
        assert module.__spec__ is not None
        module.__loader__ = module.__spec__.loader = self._loader


class _Late(ModuleType):
    """Empty until something is looked up in it, or put into it, by a name that not every module has."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # the import system asks these of modules that it has just made
            raise AttributeError(name)
        self.load()
        return getattr(self, name)

    def __setattr__(self, name: str, value: object) -> None:
        if not name.startswith("__"):
            self.load()
        ModuleType.__setattr__(self, name, value)  # it may be no longer one of these

    def load(self) -> None:
        with _lock:
            if type(self) is not _Late:  # another thread has done it meanwhile
                return
            # It may import what imports it.
            self.__class__ = _Loading  # type: ignore[assignment]
            assert self.__spec__ is not None
            assert self.__spec__.loader is not None
            try:
                self.__spec__.loader.exec_module(self)
            except BaseException:
                self.__class__ = _Late
                raise
            self.__class__ = ModuleType  # type: ignore[assignment]


class _Loading(ModuleType):
    """Other threads wait until it is whole."""

    def __getattr__(self, name: str) -> Any:
        with _lock:
            if type(self) is _Loading:
                message = f"partially initialized module {self.__name__!r} has no attribute {name!r}"
                raise AttributeError(message)
        return getattr(self, name)
