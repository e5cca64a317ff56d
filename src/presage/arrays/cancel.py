"""Cancellation of compiled loops: a loop in a cancelled thread raises `CancelledError` within 65,536 rounds.

Loops run without the GIL, so nothing else can stop them. A word of this process holds the identity of the cancelled
thread. Loops read it through a linker symbol, so compiled code can be cached on disk and no loop needs an argument for
it.
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
    """The step of this thread was cancelled."""


def cancel_loops(thread: int) -> None:
    """Cancel the loop that runs in a thread (its identity). One thread at a time: a later call replaces this one."""
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
    """Raise if this thread is cancelled. A loop calls it in every round; it checks in one of 65,536."""
    if rounds & (ROUNDS - 1) == 0 and _cancelled():
        raise CancelledError
