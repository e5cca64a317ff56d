"""The cancel word of compiled loops: a loop whose thread is to stop raises `CancelledError` within 65,536 rounds.

Loops run without Python's lock, so nothing else can stop them. The word is one number of this process, the identity of
the thread that is to stop; it reaches the loops as a symbol of the linker, so that compiled code can be cached on disk
and no loop needs another argument.
"""

from __future__ import annotations

import ctypes
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from presage.arrays.jit import inlined

_WORD, _IDENTITY = "presage_cancelled_thread", "presage_thread_identity"
ROUNDS = 1 << 16

_word = ctypes.c_int64(0)
llvm.add_symbol(_WORD, ctypes.addressof(_word))
llvm.add_symbol(_IDENTITY, ctypes.cast(ctypes.pythonapi.PyThread_get_thread_ident, ctypes.c_void_p).value)


class CancelledError(Exception):
    """The step that this thread computes is no longer wanted."""


def cancel_loops(thread: int) -> None:
    """Let the loop that runs in a thread (its identity) raise. One thread at a time; a later call takes its place."""
    _word.value = thread


def _is_cancelled(context: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        module, number = builder.module, ir.IntType(64)
        word = module.globals.get(_WORD) or ir.GlobalVariable(module, number, _WORD)
        identity = module.globals.get(_IDENTITY) or ir.Function(module, ir.FunctionType(number, []), _IDENTITY)
        wanted = builder.load(word)
        wanted.volatile = True
        return builder.icmp_unsigned("==", wanted, builder.call(identity, []))

    return types.boolean(), generate


_cancelled: Any = intrinsic(_is_cancelled)


@inlined
def check_cancelled(rounds: int) -> None:
    """Raises if this thread is to stop. Called by a loop in each of its rounds, looks in one of 65,536."""
    if rounds & (ROUNDS - 1) == 0 and _cancelled():
        raise CancelledError
