"""Messages of syntax errors: what was found, what was expected, and the likely fix.

Apart from the parser: it runs only after a parse has failed, on a trace of that parse.
"""

from __future__ import annotations

import difflib
from collections.abc import Set

from presage.errors import PresageError, error
from presage.lang.lalr import Machine, StuckError
from presage.lang.lexer import ANY_NAME, END, NAME, Token
from presage.lang.syntax_fixes import STATEMENTS, Failure, fix_for, shown
from presage.lang.unsupported_syntax import find_unsupported_syntax
from presage.model.text import Span

MAX_EXPECTED = 7
# Names of terminals that are no keywords or marks.
_NAMES = {
    NAME: "a name",
    ANY_NAME: "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "DURATION": "a duration such as 5 sec",
    "TYPED": "a literal such as DATE '2024-01-31'",
    "TIMESTAMP": "a timestamp",
    "PREFIX_NAME": "a prefix such as bd:",
    "IRI": "an IRI in <…>",
    "ANY_TAG": "a tag such as a=",
    "EVENT_VARIABLE": "an event such as ?e",
    "EVENT_WINDOW": "WINDOW",
    "QUALIFIED": "a term such as hvc:airflow",
    "GROUP": "GROUP BY",
    "EVENT": "EVENT TIME",
    "#": "a window such as #time(5 min)",
    END: "the end of the statement",
}
# Spellings of terminals that are more than a word or a mark.
_SPELLINGS = {
    "PART_COMMA": ",",
    "EVENT_ID": "EVENT ID",
    "REPORT_EVERY": "REPORT EVERY",
    "PAUSE_EVERY": "PAUSE EVERY",
    "DROP_AFTER": "DROP AFTER",
    "BEFORE_TIME": "BEFORE",
    "AFTER_TIME": "AFTER",
}
# The clause form of a query, which is not named where another form is possible.
_CLAUSE_FORM = {"FILTER", "SEQ", "EVENT_WINDOW", "PATH"}
# Terminals that are one thing to a user: its name, the terminals that indicate it, all that belong to it.
_GROUPS = (
    ("a statement", {"SELECT", "CREATE", "SHOW"}, set(STATEMENTS)),
    (
        "an expression",
        {"NUMBER", "CASE", NAME},
        {NAME, "NUMBER", "STRING", "TYPED", "DURATION", "(", "+", "-", "*"}
        | {"CASE", "CAST", "NOT", "NULL", "TRUE", "FALSE", "WINDOW", "DISTINCT", "TENTATIVE"}
        | {"FINAL", "RUNNING", "PATH", "EVENT_VARIABLE", "EXISTS"},
    ),
    ("a term of a pattern", {"EVERY", "(", NAME}, {"EVERY", "(", NAME, "NOT", "[", "ANY_TAG"}),
    (
        "a clause such as PATTERN or DEFINE",
        {"MEASURES", "DEFINE", "PATTERN"},
        {"PARTITION", "ORDER", "MEASURES", "ONE", "ALL", "AFTER", "PATTERN", "SUBSET", "DEFINE"},
    ),
    (
        "a clause such as WHERE or GROUP BY",
        {"WHERE", "GROUP", "OUTPUT"},
        {"WITHIN", "WHERE", "GROUP", "HAVING", "OUTPUT", "WITH", "APPROXIMATE", "VALIDATE", "JOIN", "INNER", "ANALYSIS"}
        | {"RECALL", "FINAL", "EVENT ID"}
        | _CLAUSE_FORM,
    ),
    (
        "a clause such as WHERE or ORDER BY",
        {"WHERE", "GROUP", "ORDER"},
        {"WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "INNER", "LEFT", "BEFORE", "AFTER", "BANDWIDTH"},
    ),
    (
        "an operator",
        {"+", "/"},
        {"+", "-", "*", "/", "%", "||", "=", "==", "<>", "!=", "<", "<=", ">", ">=", ".", "[", "("}
        | {"AND", "OR", "NOT", "IN", "IS", "LIKE", "BETWEEN"},
    ),
)


def explain_failure(
    machine: Machine, text: str, span: Span, goal: str, failure: StuckError | PresageError
) -> PresageError:
    """The error to show for a failed run. It runs the text again with a trace, which would slow down good texts."""
    if isinstance(failure, PresageError) and failure.code != "BAD_CHARACTER":
        return failure
    trace = machine.trace(text, span, goal)
    tokens = list(trace.tokens)
    if isinstance(failure, PresageError):
        assert failure.span is not None
        tokens.append(Token("", text[failure.span.start : failure.span.end], *failure.span))
    unsupported = find_unsupported_syntax(text, tokens)
    if unsupported is not None:
        return unsupported
    if isinstance(failure, PresageError):
        return failure
    steps = list(zip(trace.tokens[-2:], trace.stacks, strict=True))
    return _misspelt(machine, steps) or _unexpected(machine, steps)


def _misspelt(machine: Machine, steps: list[tuple[Token, tuple[int, ...]]]) -> PresageError | None:
    """The error for a misspelt keyword: the failing word, or the one before it, which the grammar took for an alias."""
    for token, stack in reversed(steps):
        if token.kind not in (NAME, ANY_NAME) or token.text.startswith("`"):
            continue
        keywords = [word for word in _written(machine, machine.acceptable(stack)) if word.isalpha() and len(word) > 3]
        # Stricter on the word before: it may well be a name.
        cutoff = 0.75 if token is steps[-1][0] else 0.8
        near = difflib.get_close_matches(token.text.upper(), keywords, n=1, cutoff=cutoff)
        if near and near[0] != token.text.upper():
            return error("SYNTAX", token.span, found=shown(token), expected=near[0], fix=f"did you mean {near[0]}?")
    return None


def _unexpected(machine: Machine, steps: list[tuple[Token, tuple[int, ...]]]) -> PresageError:
    token, stack = steps[-1]
    accepts = machine.acceptable(stack)
    written = _written(machine, accepts)
    only = next(iter(written)) if len(written) == 1 and not accepts & _NAMES.keys() else ""
    fix = fix_for(Failure(token, steps[-2][0] if len(steps) > 1 else None, accepts, written, only))
    return error("SYNTAX", token.span, found=shown(token), expected=_expected(written), fix=fix)


def _written(machine: Machine, kinds: Set[str]) -> set[str]:
    """Terminals by their spelling, if they have one."""
    return {_SPELLINGS.get(kind) or machine.lexer.spelling.get(kind, kind) for kind in kinds}


def _expected(written: set[str]) -> str:
    """At most MAX_EXPECTED things, the most helpful first."""
    rest, groups = set(written), []
    for name, indicators, members in _GROUPS:
        if indicators <= rest:
            groups.append(name)
            rest -= members
    if "an expression" in groups:
        rest -= _CLAUSE_FORM | {"JOIN"}
    ending = [_NAMES[END]] if END in rest else []
    values = sorted({_NAMES[kind] for kind in rest - {END} if _NAMES.get(kind, "").startswith("a")})
    plain = sorted(rest - {kind for kind in _NAMES if _NAMES[kind].startswith("a")} - {END})
    words = [_NAMES.get(word, word) for word in plain if _is_word(word)]
    marks = [f"'{mark}'" for mark in plain if not _is_word(mark)]
    listed = [*(group for group in groups if group != "an operator"), *values, *words, *marks]
    listed += [group for group in groups if group == "an operator"]
    listed = listed[: MAX_EXPECTED - len(ending)] + ending
    return " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def _is_word(written: str) -> bool:
    return written.replace(" ", "").isalpha()
