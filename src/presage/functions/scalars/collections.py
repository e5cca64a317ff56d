"""Functions of arrays, maps and structs."""

from __future__ import annotations

from presage.functions.scalars.entry import entry

_PAIR = "ARRAY<O>, ARRAY<O> -> ARRAY<O>"

ARRAYS = (
    entry("array", "T* -> ARRAY<T>", "an array of the arguments"),
    entry("array_append", "ARRAY<T>, T -> ARRAY<T>", "the array with the element at the end"),
    entry("array_compact", "ARRAY<T> -> ARRAY<T>", "the array without NULLs"),
    entry(
        "array_contains",
        "ARRAY<O>, O -> BOOLEAN",
        "whether the array has the element; NULL if it is not found and the array has a NULL",
    ),
    entry("array_distinct", "ARRAY<O> -> ARRAY<O>", "each distinct element once"),
    entry("array_except", _PAIR, "the distinct elements of the first that are not in the second"),
    entry(
        "array_insert",
        "ARRAY<T>, INT, T -> ARRAY<T>",
        "the array with the element at a position, counted from 1; NULL for 0, or above a million",
    ),
    entry("array_intersect", _PAIR, "the distinct elements of both"),
    entry(
        "array_join",
        "ARRAY<STRING>, STRING, STRING? -> STRING",
        "the elements joined with a separator; NULLs are left out, or replaced by the third argument",
    ),
    entry("array_max", "ARRAY<O> -> O", "the greatest element"),
    entry("array_min", "ARRAY<O> -> O", "the least element"),
    entry("array_position", "ARRAY<O>, O -> LONG", "the position of the element, counted from 1; 0 if absent"),
    entry("array_prepend", "ARRAY<T>, T -> ARRAY<T>", "the array with the element at the start"),
    entry("array_remove", "ARRAY<O>, O -> ARRAY<O>", "the array without that element"),
    entry("array_repeat", "T, INT -> ARRAY<T>", "an array with the element n times; NULL above a million"),
    entry("array_sort", "ARRAY<O> -> ARRAY<O>", "the array in ascending order, NULLs last"),
    entry("array_union", _PAIR, "the distinct elements of either"),
    entry("arrays_overlap", "ARRAY<O>, ARRAY<O> -> BOOLEAN", "whether the arrays share an element"),
    entry(
        "element_at try_element_at",
        "ARRAY<T>, INT -> T | MAP<K, V>, K -> V",
        "the element at a position, from 1 (negative: from the end), or the value of a key; NULL if there is none",
    ),
    entry("flatten", "ARRAY<ARRAY<T>> -> ARRAY<T>", "the arrays of an array, joined"),
    entry("get", "ARRAY<T>, INT -> T", "the element at a position, counted from 0; NULL out of range"),
    entry("size cardinality array_size", "ARRAY<T> -> INT | MAP<K, V> -> INT", "the number of elements; NULL for NULL"),
    entry(
        "slice",
        "ARRAY<T>, INT, INT -> ARRAY<T>",
        "n elements from a position on, counted from 1 (negative: from the end); NULL for 0",
    ),
    entry(
        "sort_array",
        "ARRAY<O>, BOOLEAN? -> ARRAY<O>",
        "the array in ascending order (false: descending); NULL is less than any element",
        arg1="truth value",
    ),
)

MAPS = (
    entry(
        "map",
        "(K, V)* -> MAP<K, V>",
        "a map of alternating keys and values; the last of equal keys counts, NULL keys are left out",
    ),
    entry("map_concat", "MAP<K, V>+ -> MAP<K, V>", "the entries of all maps; the last of equal keys counts"),
    entry("map_contains_key", "MAP<K, V>, K -> BOOLEAN", "whether the map has the key"),
    entry("map_entries", "MAP<K, V> -> ARRAY<STRUCT<key K, value V>>", "the entries as an array"),
    entry(
        "map_from_arrays",
        "ARRAY<K>, ARRAY<V> -> MAP<K, V>",
        "a map of an array of keys and an array of values; NULL if their sizes differ",
    ),
    entry("map_from_entries", "ARRAY<STRUCT<key K, value V>> -> MAP<K, V>", "a map of an array of pairs"),
    entry("map_keys", "MAP<K, V> -> ARRAY<K>", "the keys"),
    entry("map_values", "MAP<K, V> -> ARRAY<V>", "the values"),
)

STRUCTS = (
    entry(
        "named_struct",
        "(STRING, T)+ -> STRUCT",
        "a struct of alternating names and values: named_struct('x', 1, 'y', 2)",
    ),
    entry("struct", "X+ -> STRUCT", "a struct of the values with the names col1, col2, …"),
)
