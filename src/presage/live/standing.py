"""Statements in, standing statements out: names, texts and the catalog on one side, the live job on the other."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import pyarrow as pa

from presage.analyze.constant_arguments import patterns_of_older_homes
from presage.analyze.declare_derived import reads
from presage.analyze.warnings import tell_warnings, warnings_of
from presage.columnar.reasons import Reasons
from presage.errors import PresageError, QueryWarning, did_you_mean, error
from presage.knowledge.browsing import Browser
from presage.lang import syntax as s
from presage.lang.printer import print_statement
from presage.live.deployment import Deployment, Subscriber
from presage.live.derived import derived_table, is_made
from presage.live.inquiry import inquire
from presage.live.job import Job
from presage.live.missed import missed_events
from presage.live.passing import Passing, newest_passing
from presage.live.program import Program, make_program
from presage.live.rooms import check_end, described, has_patterns
from presage.live.statement import FINISHED, RUNNING, Statement
from presage.live.tracing import Tracing
from presage.log import Archive, CatalogEntry, InUse, Log
from presage.log.looking import not_seen
from presage.model.catalog import Catalog, Moment
from presage.model.text import Source, Span
from presage.model.time import format_timestamp
from presage.plan.display import show
from presage.plan.nodes import Field, Node
from presage.plan.picture import Picture
from presage.plan.query import BoundQuery
from presage.workspace import Workspace

GO_AGAIN_SECONDS = 2.0
MOST_CHARACTERS = 200
KIND = "statement"  # of entries in the catalog's log


class Standing(Mapping[str, Deployment]):
    """The deployments of an engine, by name."""

    def __init__(
        self,
        log: Log,
        workspace: Workspace,
        relations: Callable[[], Mapping[str, pa.Table]],
        result: Callable[[tuple[Field, ...], pa.Table], Any],
        optimize: bool = True,
        shards: int = 1,
        **job: Any,
    ) -> None:
        self._log = log
        self._workspace = workspace
        self._optimize = optimize
        self._shards = shards
        self.result = result
        self._relations = relations
        self.job = Job(log, relations, lambda name: workspace.catalog.types[name], **job)
        # Set by whoever drives the job; without a driver `drain` runs the batches itself.
        self.drive: Callable[[], None] | None = None
        self.trouble: Callable[[], str | None] = lambda: None
        self.subscriptions: dict[str, list[Subscriber]] = {}
        self.warnings: dict[
            str, tuple[QueryWarning, ...]
        ] = {}  # of statements that were deployed since the home was opened
        # Set by whoever has sinks: subscribes a function by name, for a statement's number, after so many of its rows.
        self.subscribe: Callable[..., Subscriber] | None = None
        self._closed = False
        self._refused: dict[str, str] = {}  # statements of an older version, and why they are not accepted any more

    def close(self) -> None:
        """End the subscriptions, and the waiting: no more rows will come."""
        self._closed = True
        with self.job.changed:
            self.job.changed.notify_all()
        for several in self.subscriptions.values():
            for subscription in several:
                subscription.cancel()

    # -- a mapping of names --------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Deployment:
        found = self.job.find(name)
        if found is None:
            fix = did_you_mean(name, list(self), "deploy it first")
            raise error("UNKNOWN_OBJECT", kind="statement", name=name, fix=fix)
        return Deployment(self, found.number)

    def get(self, name: str, default: Any = None) -> Any:
        """Without an error for a name that nobody has."""
        found = self.job.find(name)
        return default if found is None else Deployment(self, found.number)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.job.find(name) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(st.name for st in self.job.statements.values()))

    def __len__(self) -> int:
        return len({st.name for st in self.job.statements.values()})

    @property
    def archive(self) -> Archive:
        return self._log.archive

    @property
    def running(self) -> bool:
        return any(st.status == RUNNING for st in self.job.statements.values())

    def taken_in(self) -> int | None:
        """The last record whose arrivals the running statements have taken in; None if none of them runs."""
        return int(self._log.live.job.get("arrivals", 0)) if self.running else None

    def columns(self, number: str) -> tuple[Field, ...]:
        return self.job.programs[number].columns

    def not_seen(self, number: str) -> tuple[str, ...]:
        """What did not become an event of the streams that a statement reads."""
        return not_seen(self._log.archive, sorted(n for n in self.job.programs[number].streams if not is_made(n)))

    def taken(self, number: str) -> int:
        """How many rows of a statement all who have subscribed to it, here and now, have been given."""
        several = self.subscriptions.get(number, [])
        return min((s.delivered for s in several if s.goes_on), default=self.job.statements[number].rows_out)

    def in_use(self) -> InUse:
        """What the running statements have still to read."""
        return InUse(self.job.in_use())

    # -- coming and going ----------------------------------------------------------------------------

    def deploy(
        self,
        query: s.Query,
        name: str | None,
        replaces: bool = False,
        retention: int | None = None,
        if_absent: bool = False,
        source: Source | None = None,
    ) -> Deployment:
        """Let a query stand. The same text under the same name is the statement that stands already, `if_absent`: any
        text is. `retention`: microseconds for which its rows are kept; None: for ever, or as it was said before.
        `source`: the text that the query was written in, for warnings."""
        self._log.check_open()
        with self.job.between_batches():
            deployed = self._deploy(query, name, replaces, retention, if_absent, source)
        self._go_on()
        return deployed

    def _deploy(
        self,
        query: s.Query,
        name: str | None,
        replaces: bool,
        retention: int | None,
        if_absent: bool,
        source: Source | None,
    ) -> Deployment:
        now = self.job.moment
        settled, since = self._settled(query, now)
        text = print_statement(settled)
        known = self.job.find(name) if name is not None else None
        if known is not None and known.status == FINISHED and known.text == text and not replaces:
            return Deployment(self, known.number)  # it has its rows: the same bounds would give them once more
        known = known if known is not None and known.stands else None
        if known is not None and if_absent:
            return Deployment(self, known.number)
        if known is not None and not replaces:
            if known.written == print_statement(query):
                if retention not in (None, known.retention):
                    self.job.retain(known.number, retention)
                return Deployment(self, known.number)
            raise _other_text(name, known.written, print_statement(query), query.span)
        chosen = _checked(name) if name is not None else self._fresh_name()
        before, numbers = self._workspace.catalog, set(self.job.statements)
        extra: dict[str, Any] = {"since": since.to_json() if since else None}
        if known is not None:
            self.job.finish(known.number)
            known = self.job.statements[known.number]
            until = self.job.reached(known)
            extra["replaces"] = {"number": known.number, "until": until.to_json()}
            self._end_producer(known, until)
        try:
            if settled.insert_into is not None:
                self._workspace.catalog = self._workspace.declare_producer(settled, since, int(self.job.next_number))
            program = self._program(settled, since)
            extra["shards"] = program.shards
            entry = {"action": "create", "kind": KIND, "name": chosen, "text": text, "extra": extra}
            draft = Statement("", chosen, text, since, print_statement(query), retention=retention)
            statement = self.job.deploy(draft, now, program, entry, known)
        except BaseException:
            if set(self.job.statements) == numbers:  # else it stands, though something failed after that
                self._workspace.catalog = before
            raise
        self._warn(statement, query, source, program.plan)
        return Deployment(self, statement.number)

    def _warn(self, statement: Statement, query: s.Query, source: Source | None, plan: Node) -> None:
        """Keep and log what the user should know of a statement that was just deployed."""
        found = [*warnings_of(query, source)] if source is not None else []
        if statement.since is not None and query.within is None:  # WITHIN [now, ) says that it is meant
            missed = missed_events(plan, self.archive, statement.since.position, statement.name, query.span)
            found += [missed] if missed is not None else []
        self.warnings[statement.number] = tuple(each.in_source(source or Source("")) for each in found)
        tell_warnings(self.warnings[statement.number])

    def stop(self, number: str) -> None:
        self._log.check_open()
        with self.job.between_batches():
            statement = self.job.statements[number]
            if not statement.stands:
                return
            self.job.finish(number)
            statement = self.job.statements[number]
            until = self.job.reached(statement)
            entry = {
                "action": "drop", "kind": KIND, "name": statement.name, "text": statement.text,
                "extra": {"number": number, "until": until.to_json()},
            }  # fmt: skip
            try:
                self.job.stop(number, entry)
            finally:
                if not self.job.statements[number].stands:
                    self._end_producer(statement, until)
        # Those that read its rows wait for it no longer.
        self._go_on()

    def resume(self, number: str) -> None:
        self._log.check_open()
        self.job.resume(number)
        self._go_on()

    def replay(self, entry: CatalogEntry) -> None:
        """Take in an entry of the catalog's log: the statement is bound against the catalog of its time."""
        number = entry.extra["number"]
        statement = self._workspace.parse(entry.text, entry.name).statements[0]
        assert isinstance(statement, s.Query)
        if entry.action == "drop":
            until = Moment.from_json(entry.extra["until"])
            assert until is not None
            self._end_producer(self.job.statements[number], until)
            return
        since = Moment.from_json(entry.extra["since"])
        replaced = entry.extra.get("replaces")
        if replaced is not None:
            until = Moment.from_json(replaced["until"])
            assert until is not None
            self._end_producer(self.job.statements[replaced["number"]], until)
        if statement.insert_into is not None:
            self._workspace.catalog = self._workspace.declare_producer(statement, since, int(number))
        if number in self.job.statements:
            with patterns_of_older_homes() as refused:
                self.job.restore(number, self._program(statement, since, entry.extra["shards"]))
            if refused:
                self._refused[number] = refused[0].render()

    def set_refused_aside(self) -> None:
        """After all entries: statements that would not be accepted today fail where they are, the others go on."""
        running = [n for n in self._refused if self.job.statements[n].status == RUNNING]
        if running:
            self.job.set_aside({number: self._refused[number] for number in running})

    def know(self, after: Catalog, change: Callable[[], None]) -> None:
        """Change what is known between two batches: what has arrived is read by what was known, the rest by the new.

        `after` is the catalog as it will be, `change` makes it durable and seen. Nothing changes if a statement that
        stands could not be understood any more.
        """
        with self.job.between_batches():
            knowing = [st for st in self.job.statements.values() if st.stands and self.job.programs[st.number].knows]
            programs = self._known_anew(knowing, after)
            for statement in knowing:
                if statement.status == RUNNING:
                    self.job.catch_up(statement.number)
            change()
            fails = {}
            for statement in knowing:
                why = self._cannot_go_on(statement, programs[statement.number])
                if statement.status == RUNNING and why:
                    fails[statement.number] = error("KNOWLEDGE_CHANGED", name=statement.name, why=why).render()
            self.job.know_anew({n: program for n, program in programs.items() if n not in fails}, fails)
        if knowing:
            self._go_on()

    def _cannot_go_on(self, statement: Statement, program: Program) -> str:
        """Why a statement cannot go on from its state with what is known now; empty if it can."""
        if program.fingerprint != self.job.programs[statement.number].fingerprint:
            return "it asks for other attributes now"
        return "its windows hold pairs that were made by what was known before" if program.joins_known else ""

    def _known_anew(self, knowing: list[Statement], after: Catalog) -> dict[str, Program]:
        """The programs of statements after a change of what is known."""
        before, self._workspace.catalog = self._workspace.catalog, after
        programs = {}
        try:
            for statement in knowing:
                parsed = self._workspace.parse(statement.text).statements[0]
                assert isinstance(parsed, s.Query)
                try:
                    programs[statement.number] = self._program(parsed, statement.since, statement.shards)
                except PresageError as problem:
                    raise error("KNOWLEDGE_NEEDED", name=statement.name, why=problem.message) from problem
            self._workspace.check_producers()
        finally:
            self._workspace.catalog = before
        return programs

    def refuse_if_used(self, statement: s.Drop) -> None:
        """What a standing statement reads cannot be dropped."""
        users = self.users(statement.name) if statement.kind != "statement" else []
        if users:
            raise error("IN_USE", statement.span, name=statement.name, users=", ".join(f"'{u}'" for u in users))

    def users(self, name: str) -> list[str]:
        """Statements that stand and read a stream or relation of that name."""
        found = []
        for statement in self.job.statements.values():
            if statement.stands:
                program = self.job.programs[statement.number]
                parsed = self._workspace.parse(statement.text).statements[0]
                assert isinstance(parsed, s.Query)
                into = program.insert_into == name
                named = {name, derived_table(name)}
                if name in self._workspace.catalog.knowledge and program.knows:
                    found.append(statement.name)
                    continue
                if into or named & (program.streams | program.relations) or reads(parsed, name):
                    found.append(statement.name)
        return found

    def explain(self, number: str) -> str:
        """EXPLAIN of a statement, and how it runs here."""
        statement, program = self.job.statements[number], self.job.programs[number]
        bound = replace(self._bound(statement), warnings=self.warnings.get(number, ()))
        plan = self._workspace.explain(bound)
        shards = f"{program.shards} shards of its keys" if program.shards > 1 else "one shard"
        asked = ", ".join(show(expr) for expr in program.foreign) or "none"
        rows = [
            f"state in {shards}; batches of at most about {self.job.planner.rows_per_batch:,} events",
            f"expressions that are asked of Spark: {asked}",
            f"rows by time alone: {'yes' if program.timers else 'no'}",
            *described(program.plan),
        ]
        if has_patterns(program.plan):
            rows.append(f"partial matches that are open now: {statement.partial_matches:,}")
        if program.recalls:
            ready, suspended = statement.recalls_ready, statement.recalls_suspended
            rows.append(f"recalls that are open now: {ready:,} ready, {suspended:,} suspended")
        if program.lags:
            known = "nothing is known" if statement.made_to is None else format_timestamp(statement.made_to)
            rows.append(f"its rows wait for the oldest open recall; all have been made up to: {known}")
        return plan + "\n\n== Live ==\n" + "\n".join(rows)

    @property
    def known(self) -> Browser:
        return Browser(self._workspace.library, self._workspace.catalog.knowledge.values())

    def passing(self, number: str, limit: int) -> list[Passing]:
        """The newest events of a statement's streams, and which of its conditions they fulfil."""
        statement, program, log = self.job.statements[number], self.job.programs[number], self._log
        how = self.known.worded
        return newest_passing(program, self.job.place(statement), log, self._relations(), limit, how)

    def inquire(self, number: str, event: int) -> list[Reasons]:
        """What an event met in the patterns and sequences of a statement; `event` is the number of its arrival."""
        statement = self.job.statements[number]
        parsed = self._workspace.parse(statement.text).statements[0]
        assert isinstance(parsed, s.Query)
        # Bound anew: places of expressions are those of this text, not of one that held other statements, too.
        program, place = self._program(parsed, statement.since, statement.shards), self.job.place(statement)
        repeats = self.job.can_repeat(statement)
        return inquire(program, statement.text, place, self._log, self._relations(), event, repeats)

    def trace(self, number: str) -> Tracing:
        """For the events of a statement's matches; `follow` takes it to where the statement is."""
        return Tracing(self.job.programs[number], self._log, self._relations())

    def follow(self, number: str, tracing: Tracing) -> None:
        statement = self.job.statements[number]
        tracing.advance(self.job.place(statement), self.job.can_repeat(statement))

    def picture(self, number: str) -> Picture:
        """The automata and patterns of a statement."""
        return self._workspace.picture(self._bound(self.job.statements[number]))

    def _bound(self, statement: Statement) -> BoundQuery:
        parsed = self._workspace.parse(statement.text).statements[0]
        assert isinstance(parsed, s.Query)
        return self._workspace.bind(parsed, statement.since, live=True)

    def drain(self, number: str, timeout: float | None) -> None:
        """Wait until a statement has taken in all that has arrived."""
        self._log.home.check_owner()
        arrivals = self._log.point.arrivals
        until = None if timeout is None else time.monotonic() + timeout
        if not self.job.caught_up(number, arrivals):
            self._go_on()
        while not self.job.caught_up(number, arrivals):
            again = False
            if self._closed:
                raise error("ENGINE_CLOSED")
            if self.drive is None:
                self.job.advance()
                continue
            trouble = self.trouble()
            if trouble:
                raise error("LIVE_STOPPED", why=trouble)
            if until is not None and time.monotonic() >= until:
                name = self.job.statements[number].name
                raise error("TIMEOUT", what=f"statement '{name}'", fix="wait longer, or look at its status")
            with self.job.changed:
                wait = GO_AGAIN_SECONDS if until is None else min(GO_AGAIN_SECONDS, max(0.01, until - time.monotonic()))
                if not self.job.caught_up(number, arrivals) and not self.job.changed.wait(wait):
                    # Spark may have ended the query that calls the job.
                    again = True
            if again:
                self._go_on()

    # -- parts ---------------------------------------------------------------------------------------

    def _settled(self, query: s.Query, now: Moment) -> tuple[s.Query, Moment | None]:
        """The query with times for `now`, and the moment it begins at if it is live only."""
        within = query.within
        live = within is None or (within.low is not None and within.low.micros is None and not within.low.offset)
        if live and within is not None:
            # `now` as a lower bound is a position of the log, not a time.
            within = replace(within, low=None)
            query = replace(query, within=within if within.high is not None else None)
        settled = self._workspace.settle(query)
        assert isinstance(settled, s.Query)
        return settled, now if live else None

    def _program(self, query: s.Query, since: Moment | None, shards: int | None = None) -> Program:
        bound = self._workspace.bind(query, since, live=True)
        plan = self._workspace.optimize(bound).plan if self._optimize else bound.plan
        check_end(plan, bound.ends)
        into = self._workspace.catalog.types[query.insert_into] if query.insert_into is not None else None
        return make_program(bound, plan, shards if shards is not None else self._shards, into)

    def _end_producer(self, statement: Statement, until: Moment) -> None:
        program = self.job.programs.get(statement.number)
        if program is not None and program.insert_into is not None:
            number = int(statement.number)
            self._workspace.catalog = self._workspace.end_producer(program.insert_into, number, until)

    def _fresh_name(self) -> str:
        number = 1 + len(self.job.statements)
        while f"statement-{number}" in self:
            number += 1
        return f"statement-{number}"

    def _go_on(self) -> None:
        if self.drive is not None:
            self.drive()


def _other_text(name: str | None, was: str, says: str, span: Span) -> PresageError:
    """Of a statement whose name stands with another text: the first line in which they differ."""
    lines = zip_longest(was.splitlines(), says.splitlines(), fillvalue="")
    before, here = next((pair for pair in lines if pair[0] != pair[1]), (was, says))
    difference = f", and this says something else: it has '{before or 'nothing'}' where this has '{here or 'nothing'}'"
    fix = "choose another name, stop it, or deploy with replace=True, which ends it and keeps its rows"
    return error("ALREADY_DECLARED", span, name=name, kind="statement", difference=difference, fix=fix)


def _checked(name: object) -> str:
    """A name that can be shown, typed and stored."""
    fit = isinstance(name, str) and name.strip() == name and 0 < len(name) <= MOST_CHARACTERS and name.isprintable()
    if not fit:
        shown = repr(name) if len(repr(name)) <= MOST_CHARACTERS else f"{repr(name)[:40]}…"
        expected = f"a text of 1 to {MOST_CHARACTERS} printable characters, without blanks at its ends"
        raise error("BAD_VALUE", what="the name of a statement", found=shown, expected=expected)
    return str(name)
