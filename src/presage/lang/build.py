"""Grammar files in, the prebuilt parser out: `python -m presage.lang.build`; `--check` says whether it is fresh."""

from __future__ import annotations

import json
import sys
from typing import Any

from presage.lang.grammar_files import compose_builders, compose_grammar
from presage.lang.lalr import Machine
from presage.lang.tables import PREBUILT, build_tables, dump_tables, read_prebuilt


def is_fresh() -> bool:
    """Whether the prebuilt file is what the grammar files and this version of Lark would give now."""
    expected: dict[str, Any] = json.loads(dump_tables(build_tables(compose_grammar())))
    return read_prebuilt() == expected


def main(arguments: list[str]) -> int:
    if arguments == ["--check"]:
        if is_fresh():
            return 0
        print("parser.json does not fit the grammar: run python -m presage.lang.build", file=sys.stderr)
        return 1
    if arguments:
        print("usage: python -m presage.lang.build [--check]", file=sys.stderr)
        return 2
    tables = build_tables(compose_grammar())
    Machine(tables, compose_builders())  # A rule without a builder is found here and not by a user.
    with open(PREBUILT, "w", encoding="utf-8") as file:
        file.write(dump_tables(tables))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
