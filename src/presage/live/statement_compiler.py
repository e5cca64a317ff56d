"""The compiler of statements: from the text of a query to its program. Unlike the registry, it changes nothing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from presage.lang import syntax as s
from presage.live.program import Program, compile_program
from presage.live.statement import Statement
from presage.model.catalog import Moment
from presage.operators.running import check_deployed
from presage.plan.query import BoundQuery
from presage.workspace import Workspace


@dataclass(frozen=True)
class StatementCompiler:
    """`optimize`: False compiles plans as they are bound; `shards`: the number of shards of a statement's keys."""

    workspace: Workspace
    optimize: bool = True
    shards: int = 1

    def settle(self, query: s.Query, now: Moment) -> tuple[s.Query, Moment | None]:
        """The query with times for `now`, and the moment at which it begins, if it reads new events only."""
        within = query.within
        live = within is None or (within.low is not None and within.low.micros is None and not within.low.offset)
        if live and within is not None:
            # `now` as a lower bound is a position of the log, not a time.
            within = replace(within, low=None)
            query = replace(query, within=within if within.high is not None else None)
        settled = self.workspace.settle(query)
        assert isinstance(settled, s.Query)
        return settled, now if live else None

    def compile(self, query: s.Query, since: Moment | None, shards: int | None = None) -> Program:
        bound = self.workspace.bind(query, since, live=True)
        plan = self.workspace.optimize(bound).plan if self.optimize else bound.plan
        check_deployed(plan, bound.ends)
        into = self.workspace.catalog.types[query.insert_into] if query.insert_into is not None else None
        return compile_program(bound, plan, shards if shards is not None else self.shards, into)

    def compile_again(self, statement: Statement) -> Program:
        """The program of a deployed statement, bound against the current catalog."""
        return self.compile(self.parse(statement), statement.since, statement.shards)

    def parse(self, statement: Statement) -> s.Query:
        query = self.workspace.parse(statement.text).statements[0]
        assert isinstance(query, s.Query)
        return query

    def bind(self, statement: Statement) -> BoundQuery:
        return self.workspace.bind(self.parse(statement), statement.since, live=True)
