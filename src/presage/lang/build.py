"""The command that builds the parser's tables: `python -m presage.lang.build`; `--check` fails if they are stale."""

from __future__ import annotations

import sys

from presage.lang.grammar_files import compose_builders, compose_grammar
from presage.lang.lalr import Machine
from presage.lang.tables import build_tables, read_prebuilt, write_prebuilt


def is_fresh() -> bool:
    """Whether the prebuilt file is what this version of Lark makes of the grammar files."""
    return read_prebuilt() == build_tables(compose_grammar())


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
    Machine(tables, compose_builders())  # Fails here, and not for a user, if a rule has no builder.
    write_prebuilt(tables)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
