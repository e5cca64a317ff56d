"""Every error and warning that a user can meet: a stable code, what is wrong, where, and what would fix it.

`CONDITIONS` is the single table of codes; `error(code, ...)` makes the exception of the right class. `WARNINGS` is the
table of warnings. The page `docs/errors.md` is compared with both by a test.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, Self

from presage.model.text import Source, Span


class Diagnostic:
    """An error or warning about a text: a stable code, a message, the place with a caret, a fix."""

    word = "error"
    fault = "internal"
    code: str
    message: str
    fix: str
    span: Span | None
    source: Source | None

    @property
    def line(self) -> int | None:
        return self._place()[0]

    @property
    def column(self) -> int | None:
        return self._place()[1]

    def _place(self) -> tuple[int, int] | tuple[None, None]:
        if self.source is None or self.span is None:
            return None, None
        return self.source.line_and_column(self.span.start)

    def in_source(self, source: Source) -> Self:
        """The same, with the text of its span, unless it has one."""
        if self.source is None:
            self.source = source
        return self

    def render(self) -> str:
        lines = [f"{self.word}[{self.code}]: {self.message}"]
        if self.source is not None and self.span is not None:
            lines.append(f"  --> {self.source.name}:{self.line}:{self.column}")
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
        self, code: str, message: str, fix: str = "", span: Span | None = None, source: Source | None = None
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
    """A warning about a text that is valid, but may not mean what its author thinks; codes are those of `WARNINGS`."""

    code: str
    message: str
    fix: str
    span: Span | None = None
    source: Source | None = None
    word = "warning"
    fault = "warning"


class QueryHint(QueryWarning):
    """A text that means what it says, and of which newcomers often expect something else."""

    word = "hint"
    fault = "hint"


class PresageWarning(RuntimeWarning):
    """A warning that is about no text, for Python's `warnings`."""

    def __init__(self, told: QueryWarning) -> None:
        super().__init__(f"{told.code}: {told.message}; {told.fix}")
        self.told = told


class QuerySyntaxError(PresageError):
    """The text is not in the language."""

    fault = "syntax"


class BindingError(PresageError):
    """An unknown or ambiguous name, or one that is in use."""

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


class Text(NamedTuple):
    """Format strings over named parameters."""

    message: str
    fix: str = ""


@dataclass(frozen=True)
class Condition:
    """One row of the table of errors. `message` and `fix` are format strings over named parameters."""

    kind: type[PresageError]
    message: str
    fix: str = ""


# By class: code, message and fix, format strings over named parameters.
_MESSAGES: dict[type[PresageError], dict[str, Text]] = {
    QuerySyntaxError: {
        "SYNTAX": Text("found {found} where {expected} was expected", "{fix}"),
        "UNCLOSED": Text("{what} is opened here and never closed", "add {closer}"),
        "UNOPENED": Text("{closer} closes nothing", "remove it, or open it before"),
        "BAD_CHARACTER": Text("the character {found} has no meaning here", "{fix}"),
        "BAD_DURATION": Text("'{found}' is not a duration", "write for example 5 sec, 1 hour 30 min, 500 msec"),
        "BAD_TIMESTAMP": Text("'{found}' is not a timestamp", "write ISO 8601, for example 2012-05-07T09:00:00Z"),
        "BAD_PATH": Text("PATH is not a graph pattern of SPARQL: {why}", "{fix}"),
    },
    ResourceError: {
        "QUERY_TOO_LARGE": Text(
            "the text has {size} bytes; the limit (query size) is {limit}", "split it into several files"
        ),
        "QUERY_TOO_DEEP": Text(
            "the text is nested deeper than the limit (query depth) of {limit}", "split the expression"
        ),
        "KNOWLEDGE_TOO_LARGE": Text(
            "the closure of the knowledge bases has more than {size} triples; the limit is {limit}",
            "leave out REASONING OWL_RL, or an owl:TransitiveProperty or owl:sameAs over many entities",
        ),
        "FILE_NOT_FOUND": Text("the file '{path}' does not exist", "{fix}"),
        "FILE_UNREADABLE": Text("the file '{path}' cannot be read: {why}", "{fix}"),
        "FILE_UNWRITABLE": Text(
            "the file '{path}' cannot be written: {why}", "check its folder, the disk and the permissions"
        ),
        "FILE_EXISTS": Text("the file '{path}' already exists", "choose another name, or remove it"),
        "PATH_OUTSIDE_ROOTS": Text(
            "the path '{path}' is outside the allowed folders ({roots})",
            "move the file there, or add its folder to roots= where the engine is opened",
        ),
        "NOT_ALLOWED": Text("the console does not answer {what}", "{fix}"),
        "STARTING": Text("the console is starting: {doing}", "retry in a moment"),
        "STANDING_BY": Text("this process stands by: {leader} has the home", "ask that process, or retry later"),
        "HOME_LOCKED": Text("the home '{path}' is in use by {owner}", "close the other engine, or choose another home"),
        "ENGINE_FORKED": Text(
            "the home '{path}' was opened by process {owner}; process {pid} is a fork of it and may not use the engine",
            "open an engine after the fork, in one of the two processes",
        ),
        "HOME_OVERTAKEN": Text(
            "another process has written {what} of the home '{path}' since it was opened here",
            "close this engine; open it with standby=True to wait until the other one ends; the call had no effect",
        ),
        "NOT_LOCAL": Text(
            "'{path}' is a URL; {what} must be a path on this machine's file system",
            "give the path of a local folder or file, or mount the store as a folder",
        ),
        "NOT_A_HOME": Text("'{path}' is not a Presage home: {why}", "{fix}"),
        "HOME_VERSION": Text("the home '{path}' has format {found}; this version reads {expected}", "{fix}"),
        "DISK_FULL": Text("the disk that holds '{path}' has no space left", "{fix}"),
        "STORAGE_FAILED": Text("a file of the home '{path}' cannot be read or written: {why}", "{fix}"),
        "STORE_OPTION": Text("the storage option '{name}' cannot be used: {why}", "{fix}"),
        "STORE_UNSAFE": Text(
            "the object store of '{path}' does not refuse to overwrite an object: two engines could lose data",
            "use a store with conditional writes (If-None-Match), or a home in a folder",
        ),
        "HOME_CORRUPT": Text("{what} in the home '{path}' is damaged: {why}", "{fix}"),
        "NO_TEMPORARY_FOLDER": Text(
            "no folder for temporary files can be written to: {tried}", "set TMPDIR to a folder that you can write to"
        ),
        "NO_JAVA": Text("Spark needs Java 17 or later, which was not found{detail}", "{fix}"),
        "SPARK_NOT_STARTED": Text("Spark could not be started: {why}", "run with --debug to see all messages of Spark"),
        "NO_CONNECTOR": Text("{owner} needs Spark's connector to Kafka, which {where} does not have", "{fix}"),
        "JOB_FAILED": Text("Spark could not finish the job: {what}", "run with --debug to see where"),
        "NOT_ON_WORKERS": Text(
            "Spark's workers cannot import {module}", "give the workers' Python {what} (docs/guide/cluster.md)"
        ),
        "HOME_NOT_SHARED": Text(
            "the driver and Spark's workers do not see the same files in '{path}': {why}",
            "put the home on a file system that all of them share, under one path (docs/guide/cluster.md)",
        ),
        "STATEMENT_FAILED": Text(
            "statement '{name}' has stopped: {why}", "fix the cause, then call resume() on its deployment"
        ),
        "LIVE_STOPPED": Text(
            "the live job cannot continue: {why}", "fix the cause: the job retries by itself, and no event is lost"
        ),
        "SOURCE_FAILED": Text("the source '{kind}' of stream '{stream}' cannot continue: {why}", "{fix}"),
        "SINK_FAILED": Text("the sink '{name}' cannot continue: {why}", "{fix}"),
        "NO_PACKAGE": Text(
            "{what} needs the package {package}, which is not installed", "pip install 'presage[{extra}]'"
        ),
        "NO_SECRET": Text("{owner} needs the environment variable {name}, which is not set", "{fix}"),
        "ENV_NOT_ALLOWED": Text(
            "{owner} uses the environment variable {name}, which statements may not read",
            "open the engine with allow_env=['{name}'], or start the command with --allow-env {name}",
        ),
        "HOST_NOT_ALLOWED": Text(
            "{owner} may not connect to {host}: {why}",
            "open the engine with allow_hosts=['{name}'], or start the command with --allow-host {name}",
        ),
        "FORMAT_NOT_ALLOWED": Text(
            "{owner} may not read with Spark's format '{format}'{why}",
            "{fix}open the engine with allow_formats=['{format}'], or start the command with --allow-format {format}",
        ),
        "TIMEOUT": Text("{what} exceeded its timeout", "{fix}"),
        "LIMIT": Text("{what} exceeds the limit of {limit} ({limit_name})", "{fix}"),
        "ENGINE_CLOSED": Text("this engine is closed", "open a new Engine"),
    },
    BindingError: {
        "UNKNOWN_STREAM": Text("there is no stream, schema or relation named '{name}'", "{fix}"),
        "UNKNOWN_TYPE": Text("there is no type named '{name}'", "{fix}"),
        "UNKNOWN_ATTRIBUTE": Text("{owner} has no attribute '{name}'", "{fix}"),
        "UNKNOWN_ALIAS": Text("nothing in FROM is named '{name}'", "{fix}"),
        "UNKNOWN_VARIABLE": Text("the pattern has no variable '{name}'", "{fix}"),
        "UNKNOWN_FUNCTION": Text("there is no function named '{name}'", "{fix}"),
        "UNKNOWN_WINDOW": Text("there is no window named '{name}'", "{fix}"),
        "UNKNOWN_OPTION": Text("'{name}' is not an option of {owner}", "{fix}"),
        "MISSING_OPTION": Text("{owner} needs the option '{name}'", "{fix}"),
        "UNKNOWN_OBJECT": Text("there is no {kind} named '{name}'", "{fix}"),
        "FUNCTION_NOT_ALLOWED": Text(
            "the function '{name}' is not allowed: {why}", "use a function of docs/language/functions.md"
        ),
        "AMBIGUOUS_NAME": Text("'{name}' could be {candidates}", "write {fix}"),
        "DUPLICATE_NAME": Text("the name '{name}' is used twice in {where}", "{fix}"),
        "DIFFERS_IN_CASE": Text("'{name}' and '{other}' of {where} differ only in case: {why}", "{fix}"),
        "ALREADY_DECLARED": Text("'{name}' is already declared as a {kind}{difference}", "{fix}"),
        "HOLDS_EVENTS": Text("DROP would delete {what}{more}", "to delete all of it: DROP {kind} {name} CASCADE"),
        "CONFLICTING_DOMAINS": Text(
            "'{name}' inherits attribute '{attribute}' as {first} from {first_owner} "
            "and as {second} from {second_owner}",
            "give both the same type, or rename one of them",
        ),
        "NO_EVENT_TIME": Text(
            "stream '{name}' has no event time", "add EVENT TIME <a TIMESTAMP attribute>, or inherit one"
        ),
        "IN_USE": Text("'{name}' is used by {users}", "drop {users} first"),
        "CYCLE": Text("{what} depends on itself: {path}", "break the cycle"),
        "UNKNOWN_PREFIX": Text("the prefix '{prefix}' is not declared", "{fix}"),
        "UNKNOWN_TERM": Text("no attribute of {owner} is mapped to {term}", "{fix}"),
        "NO_CONTEXT": Text("no context maps the attributes of {kind} '{name}' to terms", "{fix}"),
        "NO_KNOWLEDGE": Text(
            "a PATH needs a knowledge base, and none is declared", "write CREATE KNOWLEDGE name FROM 'file.ttl'"
        ),
        "KNOWLEDGE_NEEDED": Text(
            "the knowledge bases are unchanged: '{name}' could no longer be bound: {why}",
            "correct the files, or stop '{name}' first",
        ),
        "PATH_WITHOUT_EVENT": Text("this PATH uses no event: {events} does not occur in it", "{fix}"),
        "PATH_LINKS_EVENTS": Text(
            "a PATH cannot connect {first} and {second}: they share a variable here",
            "use different variables for the two events, and compare their attributes outside of the PATH",
        ),
    },
    DataError: {
        "BAD_CONTEXT": Text("the context '{path}' cannot be used: {why}", "{fix}"),
        "KNOWLEDGE_NOT_RDF": Text("the file '{path}' cannot be read as {format}: {why}", "{fix}"),
        "KNOWLEDGE_INCONSISTENT": Text(
            "the knowledge bases are inconsistent: {told}",
            "correct one of the facts, or leave out REASONING OWL_RL",
        ),
        "KNOWLEDGE_CHANGED": Text(
            "the statement '{name}' cannot continue since the knowledge bases have changed: {why}",
            "deploy it again with replace=True",
        ),
        "DATA_SHAPE": Text("{what}: {found}", "{fix}"),
        "ARITHMETIC_OVERFLOW": Text("{what} exceeds the range of {type}", "{fix}"),
        "ASSERTION_FAILED": Text("the rows of '{name}' differ from the expected ones: {why}"),
        "SKIP_TARGET": Text(
            "AFTER MATCH SKIP TO {variable}: the variable {why} of {clause}",
            "skip TO NEXT ROW or PAST LAST ROW, or name a variable that every match has after its first row",
        ),
        "TABLE_CHANGED": Text(
            "version {version} of the Delta table '{path}' changes or deletes rows ({operation}); streams only append",
            "load the table as it is now into another stream",
        ),
        "TABLE_GAP": Text(
            "the Delta table '{path}' has lost {what} before it was read",
            "load the current table into another stream; keep versions and files for longer (vacuum, log retention)",
        ),
        "CHECKPOINT_CHANGED": Text(
            "the checkpoint of stream '{stream}' is not the one with which Spark delivered micro-batch {batch}: it may "
            "read again what is there",
            "bring the checkpoint back; or declare another stream, which reads all that its source has",
        ),
    },
    QueryTypeError: {
        "TYPE_MISMATCH": Text("{what} needs {expected}, found {found}", "{fix}"),
        "WRONG_ARGUMENTS": Text("{name} takes {expected}, found {found}", "{fix}"),
        "NOT_COMPARABLE": Text("{left} and {right} cannot be compared", "{fix}"),
        "WINDOW_WITHOUT_BOUND": Text("the window '{name}' needs {expected}", "write #{name}({example})"),
        "AGGREGATE_NOT_ALLOWED": Text("the aggregate {name} is not allowed in {where}", "{fix}"),
        "NOT_A_STREAM": Text("'{name}' is a {kind}, not a stream", "{fix}"),
        "NOT_PREDICTED": Text("the rows of '{name}' are not functions of time", "{fix}"),
        "BAD_VALUE": Text("{what} is {found}; it must be {expected}", "{fix}"),
    },
    UnsupportedError: {
        "UNSUPPORTED": Text("{what} is not supported {where}", "{fix}"),
        "TABLE_FEATURE": Text(
            "the Delta table '{path}' cannot be read: it uses {feature}",
            "rewrite the table without it, or load a copy of the table",
        ),
    },
    InternalError: {"INTERNAL": Text("internal error: {what}", "please report it with the query")},
}
CONDITIONS = {code: Condition(kind, *texts) for kind, messages in _MESSAGES.items() for code, texts in messages.items()}


# Warnings: message and fix, format strings over named parameters.
_HINTS = frozenset({"ROW_PER_EVENT"})
WARNINGS: dict[str, tuple[str, str]] = {
    "GUARD_COVERS_LAST": (
        "{guard} applies to {covered} only: {rest}",
        "write {all}, or ({alone}) in brackets if that is what you mean",
    ),
    "ROW_PER_EVENT": (
        "GROUP BY without OUTPUT gives a row for each event, with the values of its group so far",
        "add OUTPUT LAST for one row per group, the table that SQL gives",
    ),
    "SESSION_OF_ALL_GROUPS": (
        "GROUP BY names {more}, which is no key of the session: groups share its sessions, and prolong them together",
        "write {own} for sessions of each group, or leave it if that is what you mean",
    ),
    "EVENTS_BEFORE_NOW": (
        "statement '{name}' starts now and does not read events that arrived earlier: {counts}",
        "write WITHIN [, ) after FROM to begin with the first event, or WITHIN [now, ) if that is what you mean",
    ),
    "KERNELS_NOT_KEPT": (
        "compiled kernels cannot be kept, so each start compiles them again: {why}",
        "set NUMBA_CACHE_DIR to a folder that you, and not everybody, can write to",
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
    kind = QueryHint if code in _HINTS else QueryWarning
    return kind(code, message.format(**params), fix.format(**params), span)


@contextmanager
def placed(span: Span | None) -> Iterator[None]:
    """Gives errors that leave the block a span, unless they have one."""
    try:
        yield
    except PresageError as problem:
        problem.span = problem.span or span
        raise


@contextmanager
def located(source: Source) -> Iterator[None]:
    """Gives errors that leave the block the text of their spans."""
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
    """A fix that names the nearest candidate, or lists the candidates."""
    names = sorted(set(candidates))
    guess = nearest(name, names)
    if guess:
        spaced = any(letter.isspace() for letter in guess)
        hint = f" A name with a space is written in back-ticks: `{guess}`" if spaced else ""
        return f"did you mean '{guess}'?{hint}"
    if otherwise:
        return otherwise
    return f"known: {', '.join(names[:12])}{', …' if len(names) > 12 else ''}" if names else ""
