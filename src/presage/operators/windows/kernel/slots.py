"""Sums over the live elements of a group, at each row of a script: elements leave in any order.

Each live element holds a slot of its group: the lowest one that was free when it entered. A binary tree over the slots
holds partial sums; entering and leaving rewrite one path. Which additions are made depends on the slots alone, which
are part of the state: a restart does not change a bit of a sum. Empty slots add nothing, so the size of the tree does
not matter either.
Cost: O(log live elements of the group) for each change. The tree of group g lies at `base[g]`: its root at +1, the
slots from +width on, where width = (base[g + 1] - base[g]) / 2 is a power of two.
"""

from __future__ import annotations

import numpy as np

from presage.arrays.folds import merged_spread
from presage.arrays.jit import Bools, Floats, Ints, compiled
from presage.arrays.order_keys import GREATEST
from presage.arrays.pair_moments import merge_pairs, one_pair
from presage.operators.windows.kernel.script import Script

NONE = int(GREATEST)


@compiled
def slot_trees(script: Script, given: Ints) -> Ints:
    """Where each group's tree lies: wide enough for the most elements that live at once and for the slots given."""
    ops, initial, group, groups = script.ops, script.initial, script.group, script.groups
    live = np.zeros(groups, np.int64)
    most = np.ones(groups, np.int64)
    for o in range(ops.size):
        e = ops[o]
        if e >= 0:
            g = group[e]
            live[g] += 1
            if live[g] > most[g]:
                most[g] = live[g]
            if o < initial and given[e] + 1 > most[g]:
                most[g] = given[e] + 1
        else:
            live[group[~e]] -= 1
    base = np.zeros(groups + 1, np.int64)
    for g in range(groups):
        width = 1
        while width < most[g]:
            width *= 2
        base[g + 1] = base[g] + 2 * width
    return base


@compiled
def assigned_slots(script: Script, given: Ints, base: Ints) -> tuple[Ints, Ints]:
    """Slot that each change touches, and the slot of each element at the end (-1: not live)."""
    ops, initial, group = script.ops, script.initial, script.group
    taken = np.zeros(base[-1], np.int64)
    slot = np.full(given.size, -1, np.int64)
    touched = np.empty(ops.size, np.int64)
    for o in range(ops.size):
        e = ops[o]
        entering = e >= 0
        if not entering:
            e = ~e
        tree = base[group[e]]
        width = (base[group[e] + 1] - tree) // 2
        if not entering:
            node = width + slot[e]
        elif o < initial:
            node = width + given[e]
        else:
            node = 1
            below = width
            while node < width:
                below //= 2
                node *= 2
                if taken[tree + node] == below:
                    node += 1
        touched[o] = node - width
        slot[e] = node - width if entering else -1
        while node >= 1:
            taken[tree + node] += 1 if entering else -1
            node //= 2
    return touched, slot


@compiled
def script_total(script: Script, values: Ints) -> Ints:
    """Sums of integers are exact and need no tree: a value is subtracted when its element leaves."""
    ops, group, emit_at, emit_group = script.ops, script.group, script.emit_at, script.emit_group
    total = np.zeros(script.groups, np.int64)
    out = np.empty(emit_at.size, np.int64)
    o = 0
    for r in range(emit_at.size):
        while o < emit_at[r]:
            e = ops[o]
            if e >= 0:
                total[group[e]] += values[e]
            else:
                total[group[~e]] -= values[~e]
            o += 1
        out[r] = total[emit_group[r]]
    return out


@compiled
def script_sum(script: Script, base: Ints, touched: Ints, values: Floats) -> Floats:
    ops, group, emit_at, emit_group = script.ops, script.group, script.emit_at, script.emit_group
    tree = np.zeros(base[-1], np.float64)
    out = np.empty(emit_at.size, np.float64)
    o = 0
    for r in range(emit_at.size):
        while o < emit_at[r]:
            e = ops[o]
            x = 0.0
            if e >= 0:
                x = values[e]
            else:
                e = ~e
            root = base[group[e]]
            node = (base[group[e] + 1] - root) // 2 + touched[o]
            tree[root + node] = x
            while node > 1:
                node //= 2
                tree[root + node] = tree[root + 2 * node] + tree[root + 2 * node + 1]
            o += 1
        out[r] = tree[base[emit_group[r]] + 1]
    return out


@compiled
def script_least(script: Script, base: Ints, touched: Ints, keys: Ints) -> Ints:
    ops, group, emit_at, emit_group = script.ops, script.group, script.emit_at, script.emit_group
    tree = np.full(base[-1], NONE, np.int64)
    out = np.empty(emit_at.size, np.int64)
    o = 0
    for r in range(emit_at.size):
        while o < emit_at[r]:
            e = ops[o]
            key = NONE
            if e >= 0:
                key = keys[e]
            else:
                e = ~e
            root = base[group[e]]
            node = (base[group[e] + 1] - root) // 2 + touched[o]
            tree[root + node] = key
            while node > 1:
                node //= 2
                tree[root + node] = min(tree[root + 2 * node], tree[root + 2 * node + 1])
            o += 1
        out[r] = tree[base[emit_group[r]] + 1]
    return out


@compiled
def script_spread(script: Script, base: Ints, touched: Ints, values: Floats, valid: Bools) -> tuple[Ints, Floats]:
    """Count and sum of squared distances from the mean."""
    ops, group, emit_at, emit_group = script.ops, script.group, script.emit_at, script.emit_group
    tree_n = np.zeros(base[-1], np.int64)
    tree_mean = np.zeros(base[-1], np.float64)
    tree_m2 = np.zeros(base[-1], np.float64)
    out_n = np.empty(emit_at.size, np.int64)
    out_m2 = np.empty(emit_at.size, np.float64)
    o = 0
    for r in range(emit_at.size):
        while o < emit_at[r]:
            e = ops[o]
            n = 0
            if e >= 0:
                n = 1 if valid[e] else 0
            else:
                e = ~e
            root = base[group[e]]
            node = (base[group[e] + 1] - root) // 2 + touched[o]
            tree_n[root + node] = n
            tree_mean[root + node] = values[e]
            # 0, or NaN for a value that is not finite: then the spread is not defined while the value is live.
            tree_m2[root + node] = values[e] - values[e]
            while node > 1:
                node //= 2
                a = root + 2 * node
                b = a + 1
                tree_n[root + node], tree_mean[root + node], tree_m2[root + node] = merged_spread(
                    tree_n[a], tree_mean[a], tree_m2[a], tree_n[b], tree_mean[b], tree_m2[b]
                )
            o += 1
        top = base[emit_group[r]] + 1
        out_n[r] = tree_n[top]
        out_m2[r] = tree_m2[top]
    return out_n, out_m2


@compiled
def script_pairs(script: Script, base: Ints, touched: Ints, x: Floats, y: Floats, valid: Bools) -> Floats:
    """The moments of pairs: `presage.arrays.pair_moments`."""
    ops, group, emit_at, emit_group = script.ops, script.group, script.emit_at, script.emit_group
    tree = np.zeros((base[-1], 6), np.float64)
    out = np.empty((emit_at.size, 6), np.float64)
    o = 0
    for r in range(emit_at.size):
        while o < emit_at[r]:
            e = ops[o]
            there = e >= 0
            if not there:
                e = ~e
            root = base[group[e]]
            node = (base[group[e] + 1] - root) // 2 + touched[o]
            one_pair(x[e], y[e], there and valid[e], tree[root + node])
            while node > 1:
                node //= 2
                merge_pairs(tree[root + 2 * node], tree[root + 2 * node + 1], tree[root + node])
            o += 1
        out[r] = tree[base[emit_group[r]] + 1]
    return out
