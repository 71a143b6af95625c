"""Fields of a record that are computed when they are first read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

from setsu.errors import InputError

__all__ = ["LazyField", "NotRecorded"]

Value = TypeVar("Value")


class NotRecorded:
    """Stands for a quantity that was not recorded, and that the recorded state does not tell."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self) -> Any:
        raise InputError(
            f"Recording.{self.name}: not recorded, and the recorded state does not tell it; run again with "
            f"record=({self.name!r}, ...)"
        )


class LazyField(Generic[Value]):
    """A dataclass field that may be given as a function without arguments; it is called when the field is first read.

    >>> import numpy as np
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Record:
    ...     forces: LazyField[np.ndarray] = LazyField()
    >>> Record(lambda: np.ones(2)).forces
    array([1., 1.])
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, record: None, owner: Any = None) -> LazyField[Value]: ...
    @overload
    def __get__(self, record: object, owner: Any = None) -> Value: ...
    def __get__(self, record: Any, owner: Any = None) -> Any:
        if record is None:
            # By this a dataclass learns that the field has no default.
            raise AttributeError(self._name)
        value = record.__dict__[self._name]
        if callable(value):
            value = record.__dict__[self._name] = value()
        return value

    def __set__(self, record: Any, value: Value | Callable[[], Value]) -> None:
        record.__dict__[self._name] = value
