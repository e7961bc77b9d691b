"""A shared library played by Python objects: what `ctypes.CDLL("libcuda.so.1")` gives on a simulated node.

Programs fetch functions by name, may set `restype` and `argtypes`, and pass ctypes values, `byref()` results, arrays,
pointers, plain numbers or None. The functions below read and fill those as the C side would.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

SUCCESS = 0
"""Result of a call that came through, with CUDA as with NVML."""


class Failed(Exception):
    """A result code other than `SUCCESS`."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def call(body: Callable[..., None]) -> Callable[..., int]:
    """A library function: returns the code of what `body` raised, `SUCCESS` where it came through."""

    @wraps(body)
    def answer(*arguments: Any) -> int:
        try:
            body(*arguments)
        except Failed as failed:
            return failed.code
        return SUCCESS

    return answer


class Function:
    """One exported symbol; like a ctypes function it carries `restype` and `argtypes`."""

    def __init__(self, name: str, body: Callable[..., Any]) -> None:
        self.__name__ = name
        self._body = body
        self.restype: Any = ctypes.c_int
        self.argtypes: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return self._body(*arguments)


class Library:
    """Exports the methods of `driver` named like symbols; any other name is an AttributeError, as with dlsym."""

    def __init__(self, name: str, driver: object, prefix: str) -> None:
        self._name = name
        self._handle = 0
        self._driver = driver
        self._prefix = prefix

    @property
    def driver(self) -> object:
        """The object whose methods are exported."""
        return self._driver

    def __getattr__(self, symbol: str) -> Function:
        body = getattr(self._driver, symbol, None) if symbol.startswith(self._prefix) else None
        if body is None:
            raise AttributeError(f"{self._name}: undefined symbol: {symbol}")
        function = Function(symbol, body)
        self.__dict__[symbol] = function
        return function

    def __getitem__(self, symbol: str) -> Function:
        return self.__getattr__(symbol)


def number(argument: Any) -> int:
    """The number in an argument passed by value: an int, a ctypes number, a handle or None (0)."""
    if isinstance(argument, ctypes._Pointer):
        return ctypes.cast(argument, ctypes.c_void_p).value or 0
    value = getattr(argument, "value", argument)
    if isinstance(value, bytes):
        raise TypeError("a string where a number belongs")
    return int(value or 0)


def text(argument: Any) -> str:
    """The C string in an argument."""
    value = getattr(argument, "value", argument)
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")


def target(argument: Any) -> Any:
    """What an output argument points at: the object of a `byref()`, a pointer's contents, or the array itself."""
    referred = getattr(argument, "_obj", None)
    if referred is not None:
        return referred
    if hasattr(argument, "contents"):
        return argument.contents
    return argument


def give(argument: Any, value: float) -> None:
    """Write one number, or a handle, through an output argument."""
    written = target(argument)
    if isinstance(written, ctypes._Pointer):
        ctypes.c_void_p.from_buffer(written).value = int(value)
    else:
        written.value = value


def give_text(argument: Any, value: str, size: Any) -> bool:
    """Write a C string into a char array of `size` bytes; False where it does not fit."""
    encoded = value.encode() + b"\0"
    if len(encoded) > number(size):
        return False
    ctypes.memmove(target(argument), encoded, len(encoded))
    return True


def install(libraries: dict[str, Callable[[], object]]) -> None:
    """Make `ctypes.CDLL(name)` answer with `libraries[name]()`, made once a process; all other names load as ever.

    A path names what it would by its last part, with a longer version or without: no real driver is ever loaded."""
    real = ctypes.CDLL
    made: dict[str, object] = {}

    class CDLL(real):  # type: ignore[misc, valid-type]
        def __new__(cls, name: Any = None, *_arguments: Any, **_options: Any) -> Any:
            played = _played(name, libraries)
            if played is not None:
                if played not in made:
                    made[played] = libraries[played]()
                return made[played]
            return super().__new__(cls)

    ctypes.CDLL = CDLL  # type: ignore[misc]
    ctypes.cdll = ctypes.LibraryLoader(CDLL)


def _played(name: Any, libraries: Iterable[str]) -> str | None:
    """Which of `libraries` a name or path means; None where none of them."""
    if not isinstance(name, str | os.PathLike):
        return None
    last = os.fspath(name).rpartition("/")[2]
    return next((known for known in libraries if last == known or last.startswith(f"{known}.")), None)
