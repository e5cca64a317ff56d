"""Functions of arrays, maps and structs."""

from __future__ import annotations

from presage.functions.scalars.entry import entry

_PAIR = "ARRAY<O>, ARRAY<O> -> ARRAY<O>"

ARRAYS = (
    entry("array", "T* -> ARRAY<T>", "of the given elements"),
    entry("array_append", "ARRAY<T>, T -> ARRAY<T>", "with an element at the end"),
    entry("array_compact", "ARRAY<T> -> ARRAY<T>", "without NULLs"),
    entry("array_contains", "ARRAY<O>, O -> BOOLEAN", "whether it has the element; NULL if only a NULL could be it"),
    entry("array_distinct", "ARRAY<O> -> ARRAY<O>", "every element once"),
    entry("array_except", _PAIR, "elements of the first that the second does not have, once"),
    entry(
        "array_insert",
        "ARRAY<T>, INT, T -> ARRAY<T>",
        "with an element at a place, from 1; NULL for 0, or past a million",
    ),
    entry("array_intersect", _PAIR, "elements of both, once"),
    entry(
        "array_join",
        "ARRAY<STRING>, STRING, STRING? -> STRING",
        "joined with a text between; NULLs left out or replaced",
    ),
    entry("array_max", "ARRAY<O> -> O", "greatest element"),
    entry("array_min", "ARRAY<O> -> O", "least element"),
    entry("array_position", "ARRAY<O>, O -> LONG", "place of the element, from 1; 0 if absent"),
    entry("array_prepend", "ARRAY<T>, T -> ARRAY<T>", "with an element at the start"),
    entry("array_remove", "ARRAY<O>, O -> ARRAY<O>", "without that element"),
    entry("array_repeat", "T, INT -> ARRAY<T>", "the element n times; NULL past a million"),
    entry("array_sort", "ARRAY<O> -> ARRAY<O>", "in ascending order, NULLs at the end"),
    entry("array_union", _PAIR, "elements of either, once"),
    entry("arrays_overlap", "ARRAY<O>, ARRAY<O> -> BOOLEAN", "whether they share an element"),
    entry(
        "element_at try_element_at",
        "ARRAY<T>, INT -> T | MAP<K, V>, K -> V",
        "element from 1 (negative: from the end), or value of a key; NULL outside",
    ),
    entry("flatten", "ARRAY<ARRAY<T>> -> ARRAY<T>", "arrays of an array one after the other"),
    entry("get", "ARRAY<T>, INT -> T", "element from 0; NULL outside"),
    entry("size cardinality array_size", "ARRAY<T> -> INT | MAP<K, V> -> INT", "number of elements; NULL for NULL"),
    entry(
        "slice",
        "ARRAY<T>, INT, INT -> ARRAY<T>",
        "n elements from a place on, from 1 (negative: from the end); NULL for 0",
    ),
    entry(
        "sort_array",
        "ARRAY<O>, BOOLEAN? -> ARRAY<O>",
        "in ascending order (false: descending), NULLs least",
        arg1="truth value",
    ),
)

MAPS = (
    entry(
        "map",
        "(K, V)* -> MAP<K, V>",
        "of keys and values in turn; of equal keys the last counts, NULL keys are left out",
    ),
    entry("map_concat", "MAP<K, V>+ -> MAP<K, V>", "entries of all; of equal keys the last counts"),
    entry("map_contains_key", "MAP<K, V>, K -> BOOLEAN", "whether it has the key"),
    entry("map_entries", "MAP<K, V> -> ARRAY<STRUCT<key K, value V>>", "its entries"),
    entry(
        "map_from_arrays",
        "ARRAY<K>, ARRAY<V> -> MAP<K, V>",
        "of an array of keys and one of values; NULL if their sizes differ",
    ),
    entry("map_from_entries", "ARRAY<STRUCT<key K, value V>> -> MAP<K, V>", "of an array of pairs"),
    entry("map_keys", "MAP<K, V> -> ARRAY<K>", "its keys"),
    entry("map_values", "MAP<K, V> -> ARRAY<V>", "its values"),
)

STRUCTS = (
    entry("named_struct", "(STRING, T)+ -> STRUCT", "of names and values in turn: named_struct('x', 1, 'y', 2)"),
    entry("struct", "X+ -> STRUCT", "of values, under the names col1, col2, …"),
)
