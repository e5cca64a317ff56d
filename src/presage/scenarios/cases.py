"""The scenarios of a file: each with the statements before the first of them, and with includes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from presage.errors import error, located
from presage.lang import parse
from presage.lang import syntax as s
from presage.lang.command_syntax import Assertion, Include, Scenario
from presage.model.paths import Roots, read_text
from presage.model.text import Source

WHOLE_FILE = "the whole file"


@dataclass(frozen=True)
class Step:
    """A statement, and the text that it is part of."""

    statement: s.Statement
    source: Source


@dataclass(frozen=True)
class Case:
    """One scenario: all of its steps, those that every scenario of the file begins with first."""

    title: str
    steps: tuple[Step, ...]


def read_cases(path: Path, name: str) -> list[Case]:
    """The scenarios of a file; a file without the word SCENARIO is one. `name`: what errors call it."""
    roots = Roots((Path.cwd(), path.resolve().parent), bounded=False)
    steps = list(_steps(read_text(str(path)), name, path.resolve(), roots, (path.resolve(),)))
    marks = [i for i, step in enumerate(steps) if isinstance(step.statement, Scenario)]
    common = tuple(steps[: marks[0]] if marks else steps)
    for step in common if marks else ():
        if isinstance(step.statement, Assertion):
            found, fix = "ASSERT before the first SCENARIO", "write SCENARIO 'what is tried'; before it"
            span = step.statement.span
            raise error("SYNTAX", span, step.source, found=found, expected="it inside of one", fix=fix)
    cases = [Case(WHOLE_FILE, common)] if not marks else []
    for begin, end in pairwise([*marks, len(steps)]):
        mark = steps[begin].statement
        assert isinstance(mark, Scenario)
        cases.append(Case(mark.title, (*common, *steps[begin + 1 : end])))
    for case in cases:
        if not any(isinstance(step.statement, Assertion) for step in case.steps):
            place = (steps[-1].statement.span, steps[-1].source) if steps else (None, None)
            what = f"scenario '{case.title}'" if marks else f"'{name}'"
            raise error("BAD_VALUE", *place, what=what, found="without ASSERT", expected="one that can fail")
    return cases


def _steps(text: str, name: str, path: Path, roots: Roots, within: tuple[Path, ...]) -> Iterator[Step]:
    script = parse(text, name)
    for statement in script.statements:
        if not isinstance(statement, Include):
            yield Step(statement, script.source)
            continue
        with located(script.source):
            found = _included(statement, path, roots, within)
            shown = _name_beside(name, statement.path)
        yield from _steps(read_text(str(found)), shown, found, roots, (*within, found))


def _included(statement: Include, path: Path, roots: Roots, within: tuple[Path, ...]) -> Path:
    """A file that is named from where the other one lies."""
    found = roots.resolve(statement.path, path.parent)
    if found in within:
        what = f"INCLUDE '{statement.path}'"
        raise error("BAD_VALUE", statement.span, what=what, found="a file that includes itself", expected="another")
    return found


def _name_beside(name: str, included: str) -> str:
    folder = Path(name).parent
    return included if str(folder) == "." else str(folder / included)
