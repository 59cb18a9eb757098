"""Looking into a pickle without running it.

A pickle is a program: loading one can call anything. Here its opcodes are only listed (`pickletools.genops`) and
followed on our own stack. Names become `Global`, calls become `Call`: inert records that import nothing and
call nothing. The work and memory are bounded by the size of the file.
"""

from __future__ import annotations

import dataclasses
import pickletools
import warnings
from collections.abc import Callable
from typing import IO, Any

from isoglot.errors import FormatError

_KEYS = (str, int, float, bytes, type(None))  # ints include bools


@dataclasses.dataclass(eq=False, repr=False)
class Global:
    """A name that the pickle would have imported."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclasses.dataclass(eq=False, repr=False)
class Call:
    """A call that the pickle would have made, and the state or items it would have given to its result."""

    function: object
    args: object
    state: object = None
    items: list[object] = dataclasses.field(default_factory=list)

    @property
    def name(self) -> str:
        return str(self.function) if isinstance(self.function, Global) else ""


class _Mark:
    pass


_MARK = _Mark()


def inspect_pickle(file: IO[bytes], where: str) -> object:
    """The object a pickle describes, of plain lists, dicts, tuples, strings, numbers, `Global` and `Call`.

    >>> import io, pickle
    >>> inspect_pickle(io.BytesIO(pickle.dumps({"a": [1, 2]})), "x")
    {'a': [1, 2]}
    >>> hostile = inspect_pickle(io.BytesIO(b"cos\\nsystem\\n(S'echo'\\ntR."), "x")
    >>> hostile.name, hostile.args
    ('os.system', ('echo',))
    """
    machine = _Machine(where)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd escapes in strings
            for opcode, argument, _ in pickletools.genops(file):
                if opcode.name == "STOP":
                    return machine.pop()
                machine.step(opcode.name, argument)
    except FormatError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, EOFError, MemoryError, AttributeError) as error:
        detail = f"{type(error).__name__}: {error}"[:120]
        raise FormatError(f"damaged pickle ({detail})", where=where, remedy="get the file again") from error
    raise FormatError("the pickle is truncated", where=where, remedy="get the file again")


class _Machine:
    def __init__(self, where: str) -> None:
        self.where = where
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise ValueError("a mark where a value should be")
        return value

    def to_mark(self) -> list[Any]:
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] is _MARK:
                values = self.stack[position + 1 :]
                del self.stack[position:]
                return values
        raise ValueError("no mark")

    def step(self, name: str, argument: Any) -> None:
        push = self.stack.append
        match name:
            case "PROTO" | "FRAME":
                pass
            case "MARK":
                push(_MARK)
            case _ if name in _NEW:
                push(_NEW[name]())
            case "TUPLE1" | "TUPLE2" | "TUPLE3":
                values = [self.pop() for _ in range(int(name[-1]))]
                push(tuple(reversed(values)))
            case "TUPLE":
                push(tuple(self.to_mark()))
            case "LIST":
                push(self.to_mark())
            case "FROZENSET":
                push(Call(Global("builtins", "frozenset"), tuple(self.to_mark())))
            case "DICT":
                values = self.to_mark()
                mapping: dict[Any, Any] = {}
                push(mapping)
                self.set_items(mapping, values)
            case "APPEND":
                value = self.pop()
                self.extend(self.stack[-1], [value])
            case "APPENDS" | "ADDITEMS":
                values = self.to_mark()
                self.extend(self.stack[-1], values)
            case "SETITEM":
                value, key = self.pop(), self.pop()
                self.set_items(self.stack[-1], [key, value])
            case "SETITEMS":
                values = self.to_mark()
                self.set_items(self.stack[-1], values)
            case "POP":
                self.stack.pop()
            case "POP_MARK":
                self.to_mark()
            case "DUP":
                push(self.stack[-1])
            case "MEMOIZE":
                self.memo[len(self.memo)] = self.stack[-1]
            case "PUT" | "BINPUT" | "LONG_BINPUT":
                self.memo[int(argument)] = self.stack[-1]
            case "GET" | "BINGET" | "LONG_BINGET":
                push(self.memo[int(argument)])
            case "GLOBAL":
                module, _, attribute = argument.partition(" ")
                push(Global(module, attribute))
            case "STACK_GLOBAL":
                attribute, module = self.pop(), self.pop()
                if not isinstance(module, str) or not isinstance(attribute, str):
                    raise ValueError("a name that is not a string")
                push(Global(module, attribute))
            case "REDUCE" | "NEWOBJ":
                args, function = self.pop(), self.pop()
                push(Call(function, args))
            case "NEWOBJ_EX":
                keywords, args, function = self.pop(), self.pop(), self.pop()
                push(Call(function, (args, keywords)))
            case "INST":
                module, _, attribute = argument.partition(" ")
                push(Call(Global(module, attribute), tuple(self.to_mark())))
            case "OBJ":
                function, *values = self.to_mark()
                push(Call(function, tuple(values)))
            case "BUILD":
                state, target = self.pop(), self.stack[-1]
                if isinstance(target, Call):
                    target.state = state
            case _ if name in _VALUES:
                push(argument)
            case _:
                raise FormatError(f"a pickle with the instruction {name}, which vectors do not need", where=self.where)

    def extend(self, target: Any, values: list[Any]) -> None:
        if isinstance(target, list):
            target.extend(values)
        elif isinstance(target, Call):
            target.items.extend(values)
        else:
            raise ValueError("items for something that takes none")

    def set_items(self, target: Any, values: list[Any]) -> None:
        if len(values) % 2:
            raise ValueError("a key without a value")
        if isinstance(target, Call):
            target.items.extend(values)
            return
        if not isinstance(target, dict):
            raise ValueError("items for something that takes none")
        for key, value in zip(values[::2], values[1::2], strict=True):
            # We need no other keys, and hashing deeply nested tuples could exhaust the C stack.
            if isinstance(key, _KEYS):
                target[key] = value


_NEW: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": lambda: Call(Global("builtins", "set"), ()),
}
_VALUES = frozenset(
    "INT BININT BININT1 BININT2 LONG LONG1 LONG4 FLOAT BINFLOAT "
    "STRING BINSTRING SHORT_BINSTRING UNICODE BINUNICODE SHORT_BINUNICODE BINUNICODE8 "
    "BINBYTES SHORT_BINBYTES BINBYTES8 BYTEARRAY8".split()
)
