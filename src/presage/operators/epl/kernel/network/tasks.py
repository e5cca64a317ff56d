"""The stack of tasks of a moment. A task is an operation, two instances, a match and a flag.

Terms notify each other by tasks instead of calls, so that the loop can stop between any two of them (for more memory,
or to ask the host) and resume. The last task pushed is done first: the order is that of nested calls.
"""

from __future__ import annotations

from presage.arrays.jit import Ints, inlined_always
from presage.operators.epl.kernel.network.memory import TASKS

# START instance; TRUE receiver, sender, match, whether the sender has ended; FALSE receiver, sender (it has ended);
# NEXT_CHILD instance, child; HOLDS instance: a NOT turns true; SPAWNED instance: its START is done, EVERY checks
# whether its operand was true at once; RING instance: its timer is due; MATCH instance, row; DISCARD_TERM instance.
START, TRUE, FALSE, NEXT_CHILD, HOLDS, SPAWNED, RING, MATCH, DISCARD_TERM = range(9)
TASK_WORDS = 5


@inlined_always
def push(memory: Ints, stack: Ints, task: int, term: int, other: int, match: int, ended: int) -> None:
    top = memory[TASKS]
    stack[top, 0] = task
    stack[top, 1] = term
    stack[top, 2] = other
    stack[top, 3] = match
    stack[top, 4] = ended
    memory[TASKS] = top + 1
