"""``dataclass``, ``field``, ``fields`` and ``replace`` as in the standard library, whose methods are made when they are first used.

The standard decorator writes and compiles the methods of a class while its module is loaded. That takes half a
millisecond for each class, and a run loads hundreds of which it uses a few dozen. Here a class gets its slots at once and the
rest on demand. To type checkers, to ``dataclasses.fields`` and its like, and to msgspec, these are ordinary dataclasses.
"""

from __future__ import annotations

from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

_MISSING: Any = object()
_WITHOUT_BASES = 2
"""Classes in the ``__mro__`` of one that is derived from ``object`` alone."""
_MADE = "__made_here__"
_WORTH_COMPILING = 8
"""Instances after which the ``__init__`` of a class is compiled. Most classes have fewer, and compiling takes longer."""


class _Field:
    """What ``field(…)`` says; a plain default says the same in short."""

    __slots__ = (
        "compare",
        "default",
        "default_factory",
        "hash",
        "init",
        "kw_only",
        "metadata",
        "name",
        "repr",
    )

    def __init__(
        self,
        *,
        default: Any = _MISSING,
        default_factory: Any = _MISSING,
        init: bool = True,
        repr: bool = True,  # noqa: A002
        compare: bool = True,
        hash: bool | None = None,  # noqa: A002
        kw_only: bool = False,
        metadata: Any = None,
    ) -> None:
        self.name = ""
        self.default, self.default_factory = default, default_factory
        self.init, self.repr, self.compare, self.kw_only = init, repr, compare, kw_only
        self.hash = compare if hash is None else hash
        self.metadata = metadata


class _Shape:
    """The fields of a class, in order, and what has been made of them so far.

    ``given``: by name, what stands behind each field that the class itself declares.
    """

    __slots__ = ("_compared", "_fields", "_given", "_hashed", "_is_keyword", "by_place", "is_frozen", "owner")

    def __init__(self, owner: type, given: dict[str, Any], *, is_keyword: bool, is_frozen: bool) -> None:
        self.owner = owner
        self._given = given
        self._is_keyword = is_keyword
        self.is_frozen = is_frozen
        self._fields: dict[str, _Field] | None = None
        self._compared: Any = None
        self._hashed: Any = None
        self.by_place = self._names_by_place()

    def _names_by_place(self) -> tuple[str, ...]:
        """Without making a field of what has none: most classes are never asked for theirs."""
        is_plain = not self._is_keyword and len(self.owner.__mro__) == _WITHOUT_BASES
        if is_plain and not any(type(each) is _Field for each in self._given.values()):
            return tuple(self._given)
        return tuple([name for name, each in self.fields.items() if each.init and not each.kw_only])

    @property
    def fields(self) -> dict[str, _Field]:
        if self._fields is None:
            fields: dict[str, _Field] = {}
            for base in reversed(self.owner.__mro__[1:]):
                if shape := base.__dict__.get("__shape__"):
                    fields.update(shape.fields)
            for name, given in self._given.items():
                each = given if type(given) is _Field else _Field(default=given)
                each.name, each.kw_only = name, each.kw_only or self._is_keyword
                fields[name] = each
            self._fields = fields  # whole, or another thread might see a part of them
        return self._fields

    def compared(self, instance: object) -> Any:
        """What equality goes by."""
        if self._compared is None:
            self._compared = _getter([name for name, each in self.fields.items() if each.compare])
        return self._compared(instance)

    def hashed(self, instance: object) -> Any:
        if self._hashed is None:
            self._hashed = _getter([name for name, each in self.fields.items() if each.hash])
        return self._hashed(instance)


def _getter(names: list[str]) -> Any:
    """Always a tuple: it knows the same object for equal, whatever that says of itself."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda instance: tuple([getattr(instance, name) for name in names])


@cache
def _dataclass(
    *,
    frozen: bool = False,
    slots: bool = False,
    kw_only: bool = False,
    eq: bool = True,
    repr: bool = True,  # noqa: A002
) -> Any:
    usual: dict[str, Any] = {"__replace__": _replace}  # for Python 3.13's `copy.replace`
    if frozen:
        usual |= _FROZEN
    if repr:
        usual["__repr__"] = _repr
    if eq:
        usual["__eq__"] = _eq

    def decorate(cls: type) -> type:
        namespace = usual | cls.__dict__
        namespace.pop("__dict__", None)
        namespace.pop("__weakref__", None)
        given = _take_given(namespace)
        if eq and namespace.get("__hash__") is None:
            namespace["__hash__"] = _hash if frozen else None
        if slots:
            inherited = [name for base in cls.__mro__[1:-1] for name in base.__dict__.get("__slots__", ())]
            namespace["__slots__"] = tuple([name for name in given if name not in inherited])
        namespace["__qualname__"] = cls.__qualname__
        namespace["__dataclass_fields__"] = _STANDARD_FIELDS
        namespace["__dataclass_params__"] = _STANDARD_PARAMETERS
        namespace["__signature__"] = _SIGNATURE
        made: Any = type(cls)(cls.__name__, cls.__bases__, namespace)
        made.__shape__ = shape = _Shape(made, given, is_keyword=kw_only, is_frozen=frozen)
        made.__match_args__ = shape.by_place  # type: ignore[misc]
        if "__init__" not in namespace:
            made.__init__ = _first_inits(shape)
        return made  # type: ignore[no-any-return]

    return decorate


def _take_given(namespace: dict[str, Any]) -> dict[str, Any]:
    """What stands behind the fields that the class itself declares; it leaves the namespace, where slots will be."""
    return {
        name: namespace.pop(name, _MISSING)
        for name, kind in namespace.get("__annotations__", {}).items()
        if not kind.startswith("ClassVar")  # all our annotations are strings
    }


def _first_inits(shape: _Shape) -> Any:
    """An ``__init__`` that puts the arguments where they belong by looking, and soon makes place for a compiled one."""
    left = _WORTH_COMPILING

    def __init__(self: object, *arguments: Any, **named: Any) -> None:  # noqa: N807
        nonlocal left
        left -= 1
        if left < 0 or not _fill(self, shape, arguments, named):
            compiled = _compile_init(shape)
            shape.owner.__init__ = compiled  # type: ignore[misc]
            compiled(self, *arguments, **named)  # arguments that do not fit get the error of any function

    setattr(__init__, _MADE, True)
    return __init__


def _fill(instance: object, shape: _Shape, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether the arguments fit."""
    if len(arguments) > len(shape.by_place):
        return False
    placed = dict(zip(shape.by_place, arguments, strict=False))
    if named.keys() & placed.keys():
        return False
    given = {**placed, **named}
    put = object.__setattr__
    for name, each in shape.fields.items():
        if each.init and name in given:
            put(instance, name, given.pop(name))
        elif each.default_factory is not _MISSING:
            put(instance, name, each.default_factory())
        elif each.default is not _MISSING:
            put(instance, name, each.default)
        elif each.init:
            return False
    if given:
        return False
    if hasattr(instance, "__post_init__"):
        instance.__post_init__()
    return True


def _compile_init(shape: _Shape) -> Any:
    scope: dict[str, Any] = {"_MISSING": _MISSING}
    by_place: list[str] = ["self"]
    by_name: list[str] = []
    body: list[str] = []
    for name, each in shape.fields.items():
        value = name
        if each.default_factory is not _MISSING:
            scope[f"_make_{name}"] = each.default_factory
            value = f"_make_{name}() if {name} is _MISSING else {name}" if each.init else f"_make_{name}()"
            parameter = f"{name}=_MISSING"
        elif each.default is not _MISSING:
            scope[f"_default_{name}"] = each.default
            value = name if each.init else f"_default_{name}"
            parameter = f"{name}=_default_{name}"
        elif each.init:
            parameter = name
        else:
            continue  # __post_init__ sets it
        if each.init:
            (by_name if each.kw_only else by_place).append(parameter)
        if shape.is_frozen:  # past __setattr__, which refuses
            if slot := getattr(shape.owner, name, None):
                scope[f"_set_{name}"] = slot.__set__
                body.append(f"_set_{name}(self, {value})")
            else:
                body.append(f"object.__setattr__(self, {name!r}, {value})")
        else:
            body.append(f"self.{name} = {value}")
    if hasattr(shape.owner, "__post_init__"):
        body.append("self.__post_init__()")
    parameters = ", ".join([*by_place, *(["*", *by_name] if by_name else [])])
    text = f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"])
    exec(text, scope)  # noqa: S102 (names of fields, as the standard library does)
    made = scope["__init__"]
    made.__qualname__ = f"{shape.owner.__qualname__}.__init__"
    setattr(made, _MADE, True)
    return made


def _shape(instance: Any) -> _Shape:
    shape: _Shape = type(instance).__shape__
    return shape


@recursive_repr()
def _repr(self: Any) -> str:
    shown = [f"{name}={getattr(self, name)!r}" for name, each in _shape(self).fields.items() if each.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _eq(self: Any, other: object) -> Any:
    if type(other) is not type(self):
        return NotImplemented
    shape = _shape(self)
    return shape.compared(self) == shape.compared(other)


def _hash(self: Any) -> int:
    return hash(_shape(self).hashed(self))


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    _refuse(self, name, "assign to")
    object.__setattr__(self, name, value)


def _refuse_to_delete(self: Any, name: str) -> None:
    _refuse(self, name, "delete")
    object.__delattr__(self, name)


def _refuse(instance: Any, name: str, what: str) -> None:
    shape = _shape(instance)
    if type(instance) is shape.owner or name in shape.fields:
        from dataclasses import FrozenInstanceError

        message = f"cannot {what} field {name!r}"
        raise FrozenInstanceError(message)


def _state(self: Any) -> list[Any]:
    """To be copied and pickled: whatever does that sets attributes otherwise, which is refused."""
    return [getattr(self, name) for name in _shape(self).fields]


def _take_state(self: Any, state: list[Any]) -> None:
    for name, value in zip(_shape(self).fields, state, strict=True):
        object.__setattr__(self, name, value)


_FROZEN = {
    "__setattr__": _refuse_to_set,
    "__delattr__": _refuse_to_delete,
    "__getstate__": _state,
    "__setstate__": _take_state,
}


class _Standard:
    """An attribute by which others know a dataclass: taken from a standard one, once it is asked for."""

    def __init__(self, name: str, make: Any) -> None:
        self._name = name
        self._make = make

    def __get__(self, _: object, asked: Any) -> Any:
        shape: _Shape = asked.__shape__
        value = getattr(self._make(shape), self._name)
        setattr(shape.owner, self._name, value)
        return value


def _as_strict(shape: _Shape) -> type:
    import dataclasses

    return dataclasses.make_dataclass(shape.owner.__name__, [], frozen=shape.is_frozen)


def _with_fields(shape: _Shape) -> type:
    """Without any method: nobody asks for them, and they are what takes time."""
    import dataclasses

    plain = _plain_class(shape, dict.fromkeys(shape.fields, object))
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, match_args=False)(plain)
    # Put in afterwards: the standard library would look into each text for what is no field.
    for name, kind in _kinds(shape).items():
        made.__dataclass_fields__[name].type = kind
    return made  # type: ignore[no-any-return]


def _plain_class(shape: _Shape, kinds: dict[str, Any]) -> type:
    """What the standard decorator makes the same dataclass of."""
    import dataclasses

    namespace: dict[str, Any] = {"__doc__": "Never seen.", "__annotations__": kinds}
    for name, each in shape.fields.items():
        options: dict[str, Any] = {}
        if each.default is not _MISSING:
            options["default"] = each.default
        if each.default_factory is not _MISSING:
            options["default_factory"] = each.default_factory
        namespace[name] = dataclasses.field(
            init=each.init,
            repr=each.repr,
            compare=each.compare,
            hash=each.hash,
            kw_only=each.kw_only,
            metadata=each.metadata,
            **options,
        )
    return type(shape.owner.__name__, (), namespace)


def _kinds(shape: _Shape) -> dict[str, Any]:
    """The annotations of the fields, in the order of the fields."""
    found: dict[str, Any] = {}
    for base in reversed(shape.owner.__mro__):
        found |= base.__dict__.get("__annotations__", {})  # noqa: RUF063 (imports a lot)
    return {name: found[name] for name in shape.fields}


class _Signature:
    """What ``help`` and editors show of a class, whose own ``__init__`` takes whatever it is given at first."""

    def __get__(self, _: object, asked: Any) -> Any:
        import dataclasses
        import inspect

        shape: _Shape = asked.__shape__
        if asked is not shape.owner or not hasattr(vars(asked)["__init__"], _MADE):
            return None  # it has another way to be made: look there
        plain = _plain_class(shape, _kinds(shape))
        return inspect.signature(dataclasses.dataclass(repr=False, eq=False)(plain))


_SIGNATURE = _Signature()
_STANDARD_FIELDS = _Standard("__dataclass_fields__", _with_fields)
_STANDARD_PARAMETERS = _Standard("__dataclass_params__", _as_strict)


def _replace(instance: Any, /, **changes: Any) -> Any:
    shape: _Shape | None = vars(type(instance)).get("__shape__")
    if shape is None:
        import dataclasses

        return dataclasses.replace(instance, **changes)
    for name, each in shape.fields.items():
        if each.init and name not in changes:
            changes[name] = getattr(instance, name)
    return type(instance)(**changes)


def _fields(of: Any) -> tuple[Any, ...]:
    shape: _Shape | None = vars(of if isinstance(of, type) else type(of)).get("__shape__")
    if shape is None:  # somebody else's dataclass, which may be derived from one of ours
        import dataclasses

        return dataclasses.fields(of)
    return tuple(shape.fields.values())


if TYPE_CHECKING:
    from dataclasses import MISSING as MISSING
    from dataclasses import Field as Field
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import fields as fields
    from dataclasses import replace as replace

if not TYPE_CHECKING:
    MISSING, Field, field = _MISSING, _Field, _Field
    dataclass, fields, replace = _dataclass, _fields, _replace
