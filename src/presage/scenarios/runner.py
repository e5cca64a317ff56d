"""The runner of scenarios: each in a home of its own, with deployed statements."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from presage.engine import Engine
from presage.errors import PresageError, did_you_mean, error, located
from presage.lang import syntax as s
from presage.lang.command_syntax import Assertion, CreateStatement
from presage.model.paths import Roots
from presage.scenarios.assertions import check_rows
from presage.scenarios.cases import Case, Step, read_cases


@dataclass(frozen=True)
class Outcome:
    """The result of a scenario. `failure` is None if it passed; `assertions`: how many held."""

    title: str
    seconds: float
    assertions: int
    failure: PresageError | None = None

    @property
    def passed(self) -> bool:
        return self.failure is None


def run_scenarios(
    path: str | os.PathLike[str], *, name: str | None = None, engine: Callable[[], Engine] | None = None
) -> Iterator[Outcome]:
    """Try the scenarios of a file in turn. `engine` makes that of a scenario: by default one that starts no Spark,
    whose statements go on when they are asked, and that finds files beside the scenario's own."""
    roots = Roots((Path.cwd(), Path(path).resolve().parent), bounded=False)
    make = engine or (lambda: Engine(live=False, driven=False, roots=roots))
    for case in read_cases(Path(path), name or str(path)):
        start = time.perf_counter()
        with make() as own:
            trial = Trial(own)
            failure = trial.run(case)
        yield Outcome(case.title, time.perf_counter() - start, trial.assertions, failure)


class Trial:
    """One scenario in an engine of its own."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._asked: dict[str, int] = {}  # rows of each statement that were asserted
        self.assertions = 0

    def run(self, case: Case) -> PresageError | None:
        """All steps up to the first that fails; the failure."""
        for step in case.steps:
            try:
                with located(step.source):
                    self._step(step)
            except PresageError as problem:
                return problem
        return None

    def _step(self, step: Step) -> None:
        statement = step.statement
        if isinstance(statement, Assertion):
            self._check(statement)
            self.assertions += 1
        elif not isinstance(statement, s.Explain | s.Show | s.Describe):  # another scenario may still pass
            statement = self._named(statement) if isinstance(statement, s.Query) else statement
            self._engine.carry_out(statement, s.Script((statement,), step.source))

    def _named(self, query: s.Query) -> CreateStatement:
        """A query without a name is deployed too: as the stream that it fills, or by its number."""
        taken = self._engine.deployments
        number = 1 + sum(name.startswith("query_") for name in taken)
        name = f"query_{number}" if query.insert_into is None or query.insert_into in taken else query.insert_into
        return CreateStatement(name, query, span=query.span)

    def _check(self, assertion: Assertion) -> None:
        name, known = assertion.statement, self._engine.deployments
        if name not in known:
            fix = did_you_mean(name, known, "deploy it with CREATE STATEMENT … AS SELECT …")
            raise error("UNKNOWN_OBJECT", assertion.span, kind="deployed statement", name=name, fix=fix)
        deployment = known[name]
        deployment.drain()
        rows = deployment.table()
        before = self._asked.get(name, 0)
        self._asked[name] = rows.num_rows
        failure = check_rows(assertion, deployment.columns, rows.slice(before))
        if failure is not None:
            raise failure
