"""Every error and warning that a user can meet: a stable code, what is wrong, where, and what would fix it.

`CONDITIONS` is the single table of codes; `error(code, ...)` makes the exception of the right class. `WARNINGS` is the
table of warnings. The page `docs/errors.md` is compared with both by a test.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from presage.model.text import Source, Span


class Diagnostic:
    """What is told to a user about a text: a stable code, what it is, the place with a caret, what would fix it."""

    word = "error"
    fault = "internal"
    code: str
    message: str
    fix: str
    span: Span | None
    source: Source | None

    @property
    def line(self) -> int | None:
        return self._place()[0] if self._place() else None

    @property
    def column(self) -> int | None:
        return self._place()[1] if self._place() else None

    def _place(self) -> tuple[int, int]:
        if self.source is None or self.span is None:
            return ()  # type: ignore[return-value]
        return self.source.line_and_column(self.span.start)

    def in_source(self, source: Source) -> Self:
        """The same, told in which text its span lies (the innermost teller knows best)."""
        if self.source is None:
            self.source = source
        return self

    def render(self) -> str:
        lines = [f"{self.word}[{self.code}]: {self.message}"]
        if self.source is not None and self.span is not None:
            line, column = self.source.line_and_column(self.span.start)
            lines.append(f"  --> {self.source.name}:{line}:{column}")
            lines.append(self.source.excerpt(self.span))
        if self.fix:
            lines.append(f"  fix: {self.fix}")
        return "\n".join(lines)

    def as_dict(self) -> dict[str, object]:
        """The one JSON shape of an error or a warning, for `--format json` and for HTTP."""
        return {
            "code": self.code,
            "fault": self.fault,
            "message": self.message,
            "fix": self.fix,
            "source": self.source.name if self.source else None,
            "line": self.line,
            "column": self.column,
        }


class PresageError(Diagnostic, Exception):
    """Base of all errors. `others` holds further errors found in the same run."""

    def __init__(
        self,
        code: str,
        message: str,
        fix: str = "",
        span: Span | None = None,
        source: Source | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix
        self.span = span
        self.source = source
        self.others: tuple[PresageError, ...] = ()

    def __str__(self) -> str:
        return "\n\n".join(e.render() for e in (self, *self.others))


@dataclass
class QueryWarning(Diagnostic):
    """A text that can be carried out, and may not mean what its writer thinks; codes are those of `WARNINGS`."""

    code: str
    message: str
    fix: str
    span: Span | None = None
    source: Source | None = None
    word = "warning"
    fault = "warning"


class QuerySyntaxError(PresageError):
    """The text is not in the language."""

    fault = "syntax"


class BindingError(PresageError):
    """A name stands for nothing, or for more than one thing."""

    fault = "binding"


class QueryTypeError(PresageError):
    """The names are right, the types do not fit."""

    fault = "type"


class UnsupportedError(PresageError):
    """Well formed, but not possible in this mode or on this kind of stream."""

    fault = "unsupported"


class DataError(PresageError):
    """The data is not what was declared."""

    fault = "data"


class ResourceError(PresageError):
    """A named limit, a file, a lock, a missing program."""

    fault = "resource"


class InternalError(PresageError):
    """Our own mistake."""

    fault = "internal"


@dataclass(frozen=True)
class Condition:
    """One row of the table of errors. `message` and `fix` are format strings over named parameters."""

    kind: type[PresageError]
    message: str
    fix: str = ""


CONDITIONS: dict[str, Condition] = {
    # -- syntax ---------------------------------------------------------------------------------
    "SYNTAX": Condition(QuerySyntaxError, "found {found} where {expected} was expected", "{fix}"),
    "UNCLOSED": Condition(QuerySyntaxError, "{what} is opened here and never closed", "add {closer}"),
    "UNOPENED": Condition(QuerySyntaxError, "{closer} closes nothing", "remove it, or open it before"),
    "BAD_CHARACTER": Condition(QuerySyntaxError, "the character {found} has no meaning here", "{fix}"),
    "BAD_DURATION": Condition(
        QuerySyntaxError, "'{found}' is not a duration", "write for example 5 sec, 1 hour 30 min, 500 msec"
    ),
    "BAD_TIMESTAMP": Condition(
        QuerySyntaxError, "'{found}' is not a timestamp", "write ISO 8601, for example 2012-05-07T09:00:00Z"
    ),
    "QUERY_TOO_LARGE": Condition(
        ResourceError, "the text has {size} bytes; the limit (query size) is {limit}", "split it into several files"
    ),
    "QUERY_TOO_DEEP": Condition(
        ResourceError, "the text is nested deeper than the limit (query depth) of {limit}", "split the expression"
    ),
    # -- binding --------------------------------------------------------------------------------
    "UNKNOWN_STREAM": Condition(BindingError, "there is no stream, schema or relation named '{name}'", "{fix}"),
    "UNKNOWN_TYPE": Condition(BindingError, "there is no type named '{name}'", "{fix}"),
    "UNKNOWN_ATTRIBUTE": Condition(BindingError, "{owner} has no attribute '{name}'", "{fix}"),
    "UNKNOWN_ALIAS": Condition(BindingError, "nothing in FROM is named '{name}'", "{fix}"),
    "UNKNOWN_VARIABLE": Condition(BindingError, "the pattern has no variable '{name}'", "{fix}"),
    "UNKNOWN_FUNCTION": Condition(BindingError, "there is no function named '{name}'", "{fix}"),
    "UNKNOWN_WINDOW": Condition(BindingError, "there is no window named '{name}'", "{fix}"),
    "UNKNOWN_OPTION": Condition(BindingError, "'{name}' is not an option of {owner}", "{fix}"),
    "MISSING_OPTION": Condition(BindingError, "{owner} needs the option '{name}'", "{fix}"),
    "UNKNOWN_OBJECT": Condition(BindingError, "there is no {kind} named '{name}'", "{fix}"),
    "FUNCTION_NOT_ALLOWED": Condition(
        BindingError, "the function '{name}' is not allowed: {why}", "use a function of docs/language/functions.md"
    ),
    "AMBIGUOUS_NAME": Condition(BindingError, "'{name}' could be {candidates}", "write {fix}"),
    "DUPLICATE_NAME": Condition(BindingError, "the name '{name}' is used twice in {where}", "{fix}"),
    "DIFFERS_IN_CASE": Condition(
        BindingError, "'{name}' and '{other}' of {where} differ in case alone: {why}", "{fix}"
    ),
    "ALREADY_DECLARED": Condition(BindingError, "'{name}' is already declared as a {kind}{difference}", "{fix}"),
    "HOLDS_EVENTS": Condition(
        BindingError,
        "DROP would delete {what}{more}",
        "keep it; only if all of that may go: DROP {kind} {name} CASCADE",
    ),
    "CONFLICTING_DOMAINS": Condition(
        BindingError,
        "'{name}' inherits attribute '{attribute}' as {first} from {first_owner} and as {second} from {second_owner}",
        "give both the same type, or rename one of them",
    ),
    "NO_EVENT_TIME": Condition(
        BindingError, "stream '{name}' has no event time", "add EVENT TIME <a TIMESTAMP attribute>, or inherit one"
    ),
    "IN_USE": Condition(BindingError, "'{name}' is used by {users}", "drop {users} first"),
    "CYCLE": Condition(BindingError, "{what} leads back to itself: {path}", "break the circle"),
    # -- knowledge ------------------------------------------------------------------------------
    "BAD_PATH": Condition(QuerySyntaxError, "PATH is not a graph pattern of SPARQL: {why}", "{fix}"),
    "UNKNOWN_PREFIX": Condition(BindingError, "the prefix '{prefix}' is not declared", "{fix}"),
    "UNKNOWN_TERM": Condition(BindingError, "no attribute of {owner} means {term}", "{fix}"),
    "NO_CONTEXT": Condition(
        BindingError,
        "nothing says what the attributes of {kind} '{name}' mean",
        "{fix}",
    ),
    "NO_KNOWLEDGE": Condition(
        BindingError,
        "a PATH needs a knowledge base, and none is declared",
        "write CREATE KNOWLEDGE name FROM 'file.ttl'",
    ),
    "BAD_CONTEXT": Condition(DataError, "the context '{path}' cannot be used: {why}", "{fix}"),
    "KNOWLEDGE_NOT_RDF": Condition(DataError, "the file '{path}' cannot be read as {format}: {why}", "{fix}"),
    "KNOWLEDGE_INCONSISTENT": Condition(
        DataError,
        "the knowledge bases contradict themselves: {told}",
        "correct one of the facts, or leave out REASONING OWL_RL",
    ),
    "KNOWLEDGE_TOO_LARGE": Condition(
        ResourceError,
        "the closure of the knowledge bases has more than {size} triples; the limit is {limit}",
        "leave out REASONING OWL_RL, or an owl:TransitiveProperty or owl:sameAs over many entities",
    ),
    "KNOWLEDGE_CHANGED": Condition(
        DataError,
        "the statement '{name}' cannot go on since the knowledge bases have changed: {why}",
        "deploy it again with replace=True",
    ),
    "KNOWLEDGE_NEEDED": Condition(
        BindingError,
        "what is known stays as it was: '{name}' could not be understood without it: {why}",
        "correct the files, or stop '{name}' first",
    ),
    "PATH_WITHOUT_EVENT": Condition(BindingError, "this PATH speaks of no event: {events} is not in it", "{fix}"),
    "PATH_LINKS_EVENTS": Condition(
        BindingError,
        "a PATH cannot link {first} and {second}: they meet here",
        "use different variables for the two events, and compare their attributes outside of the PATH",
    ),
    # -- types ----------------------------------------------------------------------------------
    "TYPE_MISMATCH": Condition(QueryTypeError, "{what} needs {expected}, found {found}", "{fix}"),
    "WRONG_ARGUMENTS": Condition(QueryTypeError, "{name} takes {expected}, found {found}", "{fix}"),
    "NOT_COMPARABLE": Condition(QueryTypeError, "{left} and {right} cannot be compared", "{fix}"),
    "WINDOW_WITHOUT_BOUND": Condition(
        QueryTypeError, "the window '{name}' needs {expected}", "write #{name}({example})"
    ),
    "AGGREGATE_NOT_ALLOWED": Condition(QueryTypeError, "the aggregate {name} cannot stand in {where}", "{fix}"),
    "NOT_A_STREAM": Condition(QueryTypeError, "'{name}' is a {kind}, not a stream", "{fix}"),
    "NOT_PREDICTED": Condition(QueryTypeError, "the rows of '{name}' are no functions of time", "{fix}"),
    "BAD_VALUE": Condition(QueryTypeError, "{what} is {found}; it must be {expected}", "{fix}"),
    # -- unsupported ----------------------------------------------------------------------------
    "UNSUPPORTED": Condition(UnsupportedError, "{what} is not supported {where}", "{fix}"),
    # -- data -----------------------------------------------------------------------------------
    "DATA_SHAPE": Condition(DataError, "{what}: {found}", "{fix}"),
    "ARITHMETIC_OVERFLOW": Condition(DataError, "{what} passes the range of {type}", "{fix}"),
    "ASSERTION_FAILED": Condition(DataError, "the rows of '{name}' are not those expected: {why}"),
    "SKIP_TARGET": Condition(
        DataError,
        "AFTER MATCH SKIP TO {variable}: the variable {why} of {clause}",
        "skip TO NEXT ROW or PAST LAST ROW, or name a variable that every match has after its first row",
    ),
    # -- resources ------------------------------------------------------------------------------
    "FILE_NOT_FOUND": Condition(ResourceError, "the file '{path}' does not exist", "{fix}"),
    "FILE_UNREADABLE": Condition(ResourceError, "the file '{path}' cannot be read: {why}", "{fix}"),
    "FILE_UNWRITABLE": Condition(
        ResourceError, "the file '{path}' cannot be written: {why}", "check its folder, the disk and the permissions"
    ),
    "FILE_EXISTS": Condition(ResourceError, "the file '{path}' is there already", "choose another name, or remove it"),
    "TABLE_FEATURE": Condition(
        UnsupportedError,
        "the Delta table '{path}' cannot be read: it uses {feature}",
        "write it without that, or load a copy that another program makes of it",
    ),
    "TABLE_CHANGED": Condition(
        DataError,
        "version {version} of the Delta table '{path}' deletes or changes rows ({operation}): a stream takes rows that "
        "are added, and keeps them",
        "load the table as it is now into another stream",
    ),
    "TABLE_GAP": Condition(
        DataError,
        "the Delta table '{path}' has lost {what} before it was read",
        "load the table as it is now into another stream; keep versions and files for longer (vacuum, log retention)",
    ),
    "PATH_OUTSIDE_ROOTS": Condition(
        ResourceError,
        "the path '{path}' is outside the allowed folders ({roots})",
        "move the file there, or add its folder to roots= where the engine is opened",
    ),
    "NOT_ALLOWED": Condition(ResourceError, "the console does not answer {what}", "{fix}"),
    "STARTING": Condition(ResourceError, "the console is starting: {doing}", "ask again in a moment"),
    "HOME_LOCKED": Condition(
        ResourceError, "the home '{path}' is in use by {owner}", "close the other engine, or choose another home"
    ),
    "ENGINE_FORKED": Condition(
        ResourceError,
        "the home '{path}' was opened by process {owner}; process {pid} is a fork of it and may not use that engine",
        "open an engine after the fork, in one of the two processes",
    ),
    "HOME_OVERTAKEN": Condition(
        ResourceError,
        "another process has written {what} of the home '{path}' since it was opened here",
        "close this engine and end the other one, then open the home again; nothing of what was asked for has happened",
    ),
    "NOT_LOCAL": Condition(
        ResourceError,
        "'{path}' is an address, and {what} must be a path of this machine's file system",
        "give the path of a local folder or file, or mount the store as a folder",
    ),
    "NOT_A_HOME": Condition(ResourceError, "'{path}' is not a Presage home: {why}", "{fix}"),
    "HOME_VERSION": Condition(
        ResourceError, "the home '{path}' has format {found}; this version reads {expected}", "{fix}"
    ),
    "DISK_FULL": Condition(ResourceError, "the disk that holds '{path}' has no space left", "{fix}"),
    "STORAGE_FAILED": Condition(ResourceError, "a file of the home '{path}' cannot be read or written: {why}", "{fix}"),
    "HOME_CORRUPT": Condition(ResourceError, "{what} in the home '{path}' is damaged: {why}", "{fix}"),
    "NO_JAVA": Condition(ResourceError, "Java 17 or later was not found{detail}", "{fix}"),
    "SPARK_NOT_STARTED": Condition(
        ResourceError, "Spark could not be started: {why}", "run with --debug to see all that Spark says"
    ),
    "NO_CONNECTOR": Condition(
        ResourceError, "{owner} needs Spark's connector to Kafka, which {where} does not have", "{fix}"
    ),
    "JOB_FAILED": Condition(ResourceError, "Spark could not finish the job: {what}", "run with --debug to see where"),
    "NOT_ON_WORKERS": Condition(
        ResourceError,
        "Spark's workers cannot import {module}",
        "give the workers' Python {what} (docs/guide/cluster.md)",
    ),
    "HOME_NOT_SHARED": Condition(
        ResourceError,
        "the driver and Spark's workers do not see the same files in '{path}': {why}",
        "put the home on a file system that all of them share, under one path (docs/guide/cluster.md)",
    ),
    "STATEMENT_FAILED": Condition(
        ResourceError, "statement '{name}' has stopped: {why}", "mend the cause, then call resume() on its deployment"
    ),
    "LIVE_STOPPED": Condition(
        ResourceError,
        "the live job cannot go on: {why}",
        "mend the cause: the job tries again by itself, nothing is lost",
    ),
    "SOURCE_FAILED": Condition(ResourceError, "the source '{kind}' of stream '{stream}' cannot go on: {why}", "{fix}"),
    "SINK_FAILED": Condition(ResourceError, "the sink '{name}' cannot go on: {why}", "{fix}"),
    "NO_PACKAGE": Condition(
        ResourceError, "{what} needs the package {package}, which is not installed", "pip install 'presage[{extra}]'"
    ),
    "NO_SECRET": Condition(
        ResourceError, "{owner} needs the variable {name} of the environment, which is not set", "{fix}"
    ),
    "ENV_NOT_ALLOWED": Condition(
        ResourceError,
        "{owner} names the variable {name} of the environment, which statements may not use",
        "open the engine with allow_env=['{name}'], or start the command with --allow-env {name}",
    ),
    "HOST_NOT_ALLOWED": Condition(
        ResourceError,
        "{owner} may not connect to {host}: {why}",
        "open the engine with allow_hosts=['{name}'], or start the command with --allow-host {name}",
    ),
    "TIMEOUT": Condition(ResourceError, "{what} took longer than it was given", "{fix}"),
    "LIMIT": Condition(ResourceError, "{what} passes the limit ({limit_name}) of {limit}", "{fix}"),
    "ENGINE_CLOSED": Condition(ResourceError, "this engine is closed", "make a new Engine"),
    # -- internal -------------------------------------------------------------------------------
    "INTERNAL": Condition(InternalError, "Presage made a mistake: {what}", "please report it with the query"),
}


# Warnings: message and fix, format strings over named parameters.
WARNINGS: dict[str, tuple[str, str]] = {
    "GUARD_COVERS_LAST": (
        "{guard} covers {covered} alone: {rest}",
        "write {all}, or ({alone}) in brackets if that is what you mean",
    ),
    "EVENTS_BEFORE_NOW": (
        "statement '{name}' begins now and does not see what has arrived before: {counts}",
        "write WITHIN [, ) after FROM to begin with the first event, or WITHIN [now, ) if that is what you mean",
    ),
}


def error(code: str, span: Span | None = None, source: Source | None = None, **params: object) -> PresageError:
    """The exception for a code of `CONDITIONS`, to be raised by the caller."""
    condition = CONDITIONS[code]
    params.setdefault("fix", "")
    return condition.kind(
        code, condition.message.format(**params), condition.fix.format(**params), span=span, source=source
    )


def unsupported(span: Span | None, what: str, where: str, fix: str) -> PresageError:
    return error("UNSUPPORTED", span, what=what, where=where, fix=fix)


def warning(code: str, span: Span | None = None, **params: object) -> QueryWarning:
    """The warning for a code of `WARNINGS`."""
    message, fix = WARNINGS[code]
    return QueryWarning(code, message.format(**params), fix.format(**params), span)


@contextmanager
def placed(span: Span | None) -> Iterator[None]:
    """An error of what is done inside, if it knows no place, is told that it stands here."""
    try:
        yield
    except PresageError as problem:
        problem.span = problem.span or span
        raise


@contextmanager
def located(source: Source) -> Iterator[None]:
    """Errors that leave the block are told in which text their places lie."""
    try:
        yield
    except PresageError as problem:
        for each in (problem, *problem.others):
            each.in_source(source)
        raise


def raise_all(errors: list[PresageError]) -> None:
    """Raise the first of several errors with the others attached; do nothing if there are none."""
    if errors:
        first, *rest = errors
        first.others = (*first.others, *rest)
        raise first


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that the user probably meant."""
    by_lower = {c.lower(): c for c in candidates}
    if name.lower() in by_lower:
        return by_lower[name.lower()]
    close = difflib.get_close_matches(name.lower(), list(by_lower), n=1, cutoff=0.6)
    return by_lower[close[0]] if close else None


def did_you_mean(name: str, candidates: Iterable[str], otherwise: str = "") -> str:
    """A fix that names the nearest candidate, or lists what there is."""
    known = sorted(set(candidates))
    guess = nearest(name, known)
    if guess:
        odd = any(letter.isspace() for letter in guess)
        return f"did you mean '{guess}'?" + (f" A name with a space is written in back-ticks: `{guess}`" if odd else "")
    if otherwise:
        return otherwise
    return f"known: {', '.join(known[:12])}{', …' if len(known) > 12 else ''}" if known else ""
