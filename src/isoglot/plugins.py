"""Registries that can be extended from outside: by a decorator, by an entry point, or as `module:Name`.

A package with an entry point `my-method = "my_package:MyMethod"` in the group `isoglot.aligners` adds its method to
ours once it is installed. `late` is the only way for a room to call a room below it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

from isoglot.errors import ConfigError, IsoglotError
from isoglot.suggest import unknown

T = TypeVar("T")


def late(target: str) -> Any:
    """Import `module:name` now: for methods whose work is done by a room further down the flow.

    >>> late("isoglot.plugins:late").__name__
    'late'
    """
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def load_object(text: str, kind: str) -> Any:
    """Import the object that a user names as `package.module:Name` or `file.py:Name`."""
    place, _, name = text.rpartition(":")
    try:
        if place.endswith(".py"):
            module = _from_file(Path(place).resolve())
        else:
            module = importlib.import_module(place)
    except IsoglotError:
        raise
    except ImportError as error:
        raise ConfigError(f"{kind} {text!r}: {error}", remedy="give module:Class or file.py:Class") from error
    except Exception as error:  # in the user's code
        raise ConfigError(f"{type(error).__name__}: {error}", where=place) from error
    if not hasattr(module, name):
        raise unknown(f"name in {place}", name, [key for key in vars(module) if not key.startswith("_")])
    return getattr(module, name)


@functools.cache
def _from_file(path: Path) -> Any:
    """Import a file as a module, once."""
    from importlib.util import module_from_spec, spec_from_file_location

    if not path.is_file():
        raise ConfigError("no such file", where=str(path))
    spec = spec_from_file_location(f"_file_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module  # dataclasses look up their module there
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module.__name__]
        raise
    return module


class Registry(Generic[T]):
    """Things of one kind by name: ours, and those of entry points.

    Args:
        kind: what they are called in messages, e.g. "method".
        group: the group of entry points, e.g. "isoglot.aligners".
        packages: packages of ours whose modules (not those that begin with an underscore) register things on import.
        check: raises if something from outside is not of this kind.
    """

    def __init__(
        self, kind: str, group: str, *packages: str, check: Callable[[Any], None] = lambda thing: None
    ) -> None:
        self.kind = kind
        self.group = group
        self._packages = packages
        self._check = check
        self._things: dict[str, T] = {}
        self._complete = False

    def add(self, name: str, thing: T) -> None:
        """Called by decorators. A name belongs to the first that registers it."""
        other = self._things.setdefault(name, thing)
        if other is not thing and _origin(other) != _origin(thing):
            raise ConfigError(f"two {self.kind}s are called {name!r}: {_origin(other)} and {_origin(thing)}")
        self._things[name] = thing

    def all(self) -> Mapping[str, T]:
        """All of them by name, in alphabetical order."""
        if not self._complete:
            for package in self._packages:
                for module in pkgutil.iter_modules(importlib.import_module(package).__path__, f"{package}."):
                    if not module.ispkg and not module.name.rpartition(".")[2].startswith("_"):
                        importlib.import_module(module.name)
            for name, thing in self._from_outside():
                self.add(name, thing)
            self._complete = True
        return dict(sorted(self._things.items()))

    def get(self, name: str) -> T:
        """The named one; `module:Name` and `file.py:Name` name one from outside."""
        known = self._things if name in self._things else self.all()
        if name in known:
            return known[name]
        if ":" in name:
            thing: T = load_object(name, self.kind)
            self._check(thing)
            return thing
        raise unknown(self.kind, name, known)

    def _from_outside(self) -> Iterator[tuple[str, T]]:
        for point in entry_points(group=self.group):
            try:
                thing = point.load()
                self._check(thing)
            except Exception as error:  # whatever somebody else's package does on import, ours must still work
                message = f"the {self.kind} {point.name!r} ({point.value}) cannot be loaded and is skipped: {error}"
                warnings.warn(message, stacklevel=3)
            else:
                yield point.name, thing


def _origin(thing: Any) -> str:
    return f"{getattr(thing, '__module__', '?')}.{getattr(thing, '__qualname__', repr(thing))}"
