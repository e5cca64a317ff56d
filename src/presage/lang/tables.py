"""The parser's tables: built from the grammar by Lark, or loaded from the prebuilt file."""

from __future__ import annotations

import json
import os
import re
from typing import Any

from presage.lang.grammar_files import FOLDER, GOALS, compose_grammar

# Plain file functions: importing pathlib and hashlib would double the time to the first parsed statement.
PREBUILT = os.path.join(FOLDER, "parser.json")


def load_tables() -> dict[str, Any]:
    """The prebuilt tables if they fit the grammar, else tables built now by Lark, in a fifth of a second."""
    grammar = compose_grammar()
    tables = read_prebuilt()
    return tables if tables.get("grammar") == grammar else build_tables(grammar)


def read_prebuilt() -> dict[str, Any]:
    """The prebuilt tables; empty if the file is missing or damaged."""
    try:
        with open(PREBUILT, encoding="utf-8") as file:
            tables = json.load(file)
    except (OSError, ValueError):
        return {}
    return tables if isinstance(tables, dict) else {}


def write_prebuilt(tables: dict[str, Any]) -> None:
    """Write one state or rule on a line, so that changes can be read."""
    parts = []
    for key, value in tables.items():
        if key in ("rules", "states"):
            lines = ",\n".join(json.dumps(entry, separators=(",", ":")) for entry in value)
            parts.append(f'"{key}":[\n{lines}\n]')
        else:
            parts.append(f'"{key}":{json.dumps(value)}')
    with open(PREBUILT, "w", encoding="utf-8") as file:
        file.write("{" + ",\n".join(parts) + "}\n")


def build_tables(grammar: str) -> dict[str, Any]:
    """Tables from the grammar's text. Raises Lark's own errors, which only authors of grammars see."""
    from lark import Lark  # Only here: with prebuilt tables Lark is never loaded.
    from lark.grammar import Rule
    from lark.lexer import TerminalDef

    parser = Lark(grammar, parser="lalr", start=list(GOALS), maybe_placeholders=True)
    data, memo = parser.memo_serialize([TerminalDef, Rule])
    table = data["parser"]["parser"]
    symbols: dict[int, str] = table["tokens"]
    numbers = {key: number for number, key in enumerate(key for key, entry in memo.items() if "origin" in entry)}
    raw = {
        state: {
            symbols[symbol]: ("goto", arg) if kind == 0 else ("rule", arg["@"]) for symbol, (kind, arg) in row.items()
        }
        for state, row in table["states"].items()
    }
    order = _number_states(raw, [table["start_states"][goal] for goal in GOALS])
    return {
        # The grammar's text is part of the tables: they are valid for this text only.
        "grammar": grammar,
        "goals": {goal: [order[table["start_states"][goal]], order[table["end_states"][goal]]] for goal in GOALS},
        "rules": [_rule(entry) for entry in memo.values() if "origin" in entry],
        "states": [
            {
                symbol: order[arg] if kind == "goto" else -numbers[arg] - 1
                for symbol, (kind, arg) in sorted(raw[state].items())
            }
            for state in sorted(order, key=order.__getitem__)
        ],
        "lexer": _lexer(
            [entry for entry in memo.values() if "pattern" in entry], data["parser"]["lexer_conf"]["ignore"]
        ),
    }


def _number_states(raw: dict[int, dict[str, tuple[str, int]]], starts: list[int]) -> dict[int, int]:
    """States numbered in the order of a walk from the start states: Lark's own numbers vary between runs."""
    order: dict[int, int] = {}
    waiting = list(starts)
    for state in waiting:
        if state not in order:
            order[state] = len(order)
            waiting += [arg for _, (kind, arg) in sorted(raw[state].items()) if kind == "goto"]
    return order


def _rule(entry: dict[str, Any]) -> list[Any]:
    """The fields of `lalr.Rule`, with the builder by name."""
    origin, expansion, options = entry["origin"]["name"], entry["expansion"], entry["options"]
    empty = "".join("1" if absent else "0" for absent in options["empty_indices"])
    gaps = [len(ones) for ones in empty.split("0")] if empty else [0] * (len(expansion) + 1)
    shape: list[int] = []
    for index, symbol in enumerate(expansion):
        shape += [-1] * gaps[index]
        if not symbol.get("filter_out"):
            shape.append(index)
    shape += [-1] * gaps[len(expansion)]
    spliced = [
        index
        for index in shape
        if index >= 0 and expansion[index]["__type__"] == "NonTerminal" and expansion[index]["name"].startswith("_")
    ]
    # `?rule` with one part is that part.
    passes = options["expand1"] and not entry["alias"] and len(shape) == 1 and not spliced
    name = None if passes or origin.startswith("_") else entry["alias"] or origin
    return [origin, len(expansion), name, passes, shape, spliced]


def _lexer(terminals: list[dict[str, Any]], ignored: list[str]) -> dict[str, Any]:
    keywords, marks, patterns = {}, {}, []
    for entry in terminals:
        text = entry["pattern"]["value"]
        if entry["pattern"]["__type__"] == "PatternRE":
            patterns.append((entry["priority"], entry["name"], text))
        elif re.fullmatch(r"\w+", text):
            keywords[text.upper()] = entry["name"]
        else:
            marks[text] = entry["name"]
    patterns.sort(key=lambda pattern: (-pattern[0], pattern[1]))
    return {
        "keywords": dict(sorted(keywords.items())),
        "marks": dict(sorted(marks.items())),
        "patterns": [[name, regex] for priority, name, regex in patterns if priority <= 1],
        "contextual": [[name, regex] for priority, name, regex in patterns if priority > 1],
        "ignored": sorted(ignored),
    }
