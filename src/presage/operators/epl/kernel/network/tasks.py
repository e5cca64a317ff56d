"""The stack of tasks: what is still to be done in a moment. A task is an operation, two instances, a match and a flag.

Terms tell each other what became of them by tasks instead of calls, so that the loop can stop between any two of them
(to get more memory, to ask a question) and go on later. The last task pushed is the first done: the order is that of
nested calls.
"""

from __future__ import annotations

from presage.arrays.jit import Ints
from presage.operators.epl.kernel.network.memory import TASKS, within_loop

# START instance; TRUE receiver, sender, match, whether the sender has ended; FALSE receiver, sender (it has ended);
# NEXT_CHILD instance, child; HOLDS instance: a NOT says that it is true; SPAWNED instance: its START is done, EVERY
# looks whether its operand was true at once; RING instance: its timer is due; MATCH instance, row; DISCARD_TERM
# instance.
START, TRUE, FALSE, NEXT_CHILD, HOLDS, SPAWNED, RING, MATCH, DISCARD_TERM = range(9)
TASK_WORDS = 5


@within_loop
def push(memory: Ints, stack: Ints, task: int, term: int, other: int, match: int, ended: int) -> None:
    top = memory[TASKS]
    stack[top, 0] = task
    stack[top, 1] = term
    stack[top, 2] = other
    stack[top, 3] = match
    stack[top, 4] = ended
    memory[TASKS] = top + 1
