"""A text that the parser could not read in, one error in the user's words out: found, expected, and the likely fix."""

from __future__ import annotations

import difflib
from collections.abc import Set

from presage.errors import PresageError, error
from presage.lang.lalr import Machine, StuckError
from presage.lang.later import find_later_form
from presage.lang.lexer import ANY_NAME, END, NAME, Token
from presage.lang.words import is_reserved
from presage.model.text import Span

MAX_EXPECTED = 7
MAX_SHOWN = 40
# What a terminal is called where it is not a keyword or a mark.
_CALLED = {
    NAME: "a name",
    ANY_NAME: "a name",
    "NUMBER": "a number",
    "STRING": "a string",
    "DURATION": "a duration such as 5 sec",
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
# Terminals that are more than a word or a mark, by what a user writes.
_SPELT = {
    "PART_COMMA": ",",
    "EVENT_ID": "EVENT ID",
    "REPORT_EVERY": "REPORT EVERY",
    "PAUSE_EVERY": "PAUSE EVERY",
    "DROP_AFTER": "DROP AFTER",
    "BEFORE_TIME": "BEFORE",
    "AFTER_TIME": "AFTER",
}
# Terminals that mean one thing to a user: the name of the group, the terminals that tell it, all that belong to it.
_STATEMENTS = ("SELECT", "INSERT", "PREFIX", "CREATE", "EXPLAIN", "SHOW", "DESCRIBE", "DROP", "REFRESH",
               "CANCEL", "ACCELERATE", "CONTINUE")  # fmt: skip
# The clause form of a query, which is not named where another form is at hand.
_CLAUSE_FORM = {"FILTER", "SEQ", "EVENT_WINDOW", "PATH"}
_GROUPS = (
    ("a statement", {"SELECT", "CREATE", "SHOW"}, set(_STATEMENTS)),
    (
        "an expression",
        {"NUMBER", "CASE", NAME},
        {NAME, "NUMBER", "STRING", "DURATION", "(", "+", "-", "*"}
        | {"CASE", "CAST", "NOT", "NULL", "TRUE", "FALSE", "WINDOW", "DISTINCT", "TENTATIVE"}
        | {"FINAL", "RUNNING", "PATH", "EVENT_VARIABLE", "EXISTS"},
    ),
    (
        "a term of a pattern",
        {"EVERY", "(", NAME},
        {"EVERY", "(", NAME, "NOT", "[", "ANY_TAG"},
    ),
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
# Reserved words that nobody means as the start of a clause here, but as a name.
_NAMELIKE = {"WINDOW", "CONTEXT", "FINAL", "DEFINE"}
_COMPARISONS = {"=", "==", "<>", "!=", "<", "<=", ">", ">="}


def explain_failure(
    machine: Machine, text: str, span: Span, goal: str, failure: StuckError | PresageError
) -> PresageError:
    """The error to show for a failed run. It runs the text again with a trace, which good texts do without."""
    if isinstance(failure, PresageError) and failure.code != "BAD_CHARACTER":
        return failure
    trace = machine.trace(text, span, goal)
    tokens = list(trace.tokens)
    if isinstance(failure, PresageError):
        assert failure.span is not None
        tokens.append(Token("", text[failure.span.start : failure.span.end], *failure.span))
    later = find_later_form(text, tokens)
    if later is not None:
        return later
    if isinstance(failure, PresageError):
        return failure
    steps = list(zip(trace.tokens[-2:], trace.stacks, strict=True))
    return _misspelt(machine, steps) or _unexpected(machine, steps)


def _misspelt(machine: Machine, steps: list[tuple[Token, tuple[int, ...]]]) -> PresageError | None:
    """A keyword written wrongly: the word found, or the one before it, which then passed for an alias."""
    for token, stack in reversed(steps):
        if token.kind not in (NAME, ANY_NAME) or token.text.startswith("`"):
            continue
        keywords = [word for word in _written(machine, machine.acceptable(stack)) if word.isalpha() and len(word) > 3]
        # Stricter on the word before: it is a good name, unless it is nearly a keyword.
        cutoff = 0.75 if token is steps[-1][0] else 0.8
        near = difflib.get_close_matches(token.text.upper(), keywords, n=1, cutoff=cutoff)
        if near and near[0] != token.text.upper():
            return error("SYNTAX", token.span, found=_shown(token), expected=near[0], fix=f"did you mean {near[0]}?")
    return None


def _unexpected(machine: Machine, steps: list[tuple[Token, tuple[int, ...]]]) -> PresageError:
    token, stack = steps[-1]
    accepts = machine.acceptable(stack)
    written = _written(machine, accepts)
    before = steps[-2][0] if len(steps) > 1 else None
    fix = _fix(token, before, accepts, written)
    return error("SYNTAX", token.span, found=_shown(token), expected=_expected(written), fix=fix)


def _fix(token: Token, before: Token | None, accepts: Set[str], written: Set[str]) -> str:
    shown = _shown(token)
    starts_value = token.kind in (NAME, ANY_NAME, "NUMBER", "STRING", "DURATION", "CASE", "CAST")
    namelike = token.text.upper() in _NAMELIKE
    two_words = _two_words(before, token)
    if before is not None and before.text == "," and not namelike and token.kind != END and not starts_value:
        return f"remove the comma before {shown}"
    if token.text.upper() in _STATEMENTS and END in accepts:
        return f"is a ';' missing before {shown}?"
    if token.text == "@" and "ANY_TAG" in accepts:
        return "annotations stand before the bracket: PATTERN @Name [ … ]; @consume behind its event: a=A@consume"
    if token.text == ";" and len(written) > 1:
        return "leave it out: within a statement a ';' stands between the subgoals of SEQUENCE [ … ; … ] only"
    if token.text in (",", "->") and ";" in written:
        return "subgoals are parted by ';'"
    if token.kind == "WHERE" and ";" in written:
        return "a condition on what is repeated stands inside: (g WHERE c)+{p | d}, where d is tested at every repeat"
    if ":" in written and before is not None and before.kind == "QUALIFIED":
        return f"between the bounds of a range the ':' stands alone: {before.text[:MAX_SHOWN].replace(':', ' : ')}"
    if token.text == ":" and before is not None and before.kind == NAME and "AND" in written:
        return f"a term is one of an event: e.{before.text[:MAX_SHOWN]}:… with FROM … AS e"
    if token.text.upper() == "WITHIN" and "UNTIL" in written:
        return "a term's time limit stands behind it: a=A -> b=B WHERE timer:within(1 min)"
    if token.kind == "DURATION" and before is not None and before.kind == "WITHIN":
        return (
            "WITHIN bounds the whole query: WITHIN [2024-03-01, now]; a pattern's limit stands in its brackets: "
            f"WHERE timer:within({token.text[:MAX_SHOWN]})"
        )
    if token.kind == "STRING" and before is not None and before.text.upper() == "INTERVAL":
        return "a duration stands without INTERVAL and quotes: 1 min"
    if token.text == "." and "#" in written:
        return "a window is written with #: #time(1 min), #length(10)"
    if token.text in _COMPARISONS and "UNTIL" in written:
        return "what follows is written with ->, and a filter in parentheses: a=A(x > 1) -> b=B"
    if token.text in _COMPARISONS and "AND" in written:
        return "comparisons do not chain: join two of them by AND"
    if starts_value and "," in written:
        naming = f", or AS, if {shown} names the column" if "AS" in written and token.kind == NAME else ""
        spaced = f", or back-ticks, if the name has a space: {two_words}" if two_words else ""
        return f"is a comma missing before {shown}{naming}{spaced}?"
    if two_words and "AND" in written and "UNTIL" not in written:
        return f"a name with a space is written in back-ticks: {two_words}"
    if token.kind == "SELECT" and "CONTEXT" in written:
        return "say what is compared: CONTEXT SELECT …"
    if token.text.upper() in ("CONTEXT", "WITH") and "PART_COMMA" in accepts:
        return f"is a comma missing before {shown}?"
    if before is not None and before.kind == "LAST" and "DURATION" in accepts and token.kind != "NUMBER":
        return "say how far back: LAST 4 weeks"
    if before is not None and before.kind == "WINDOW" and "DURATION" in accepts and token.kind != "NUMBER":
        return "say how far apart in time two values may be: WINDOW 3 sec"
    if token.kind in (NAME, "NUMBER") and accepts == {"STRING"}:
        return f"put it in quotes: '{token.text[:MAX_SHOWN]}'"
    if token.kind == "NUMBER" and "DURATION" in accepts:
        return f"add the unit: {token.text[:MAX_SHOWN]} sec"
    if token.kind == "STRING" and {NAME, ANY_NAME} & accepts:
        return "a name stands without quotes, or in back-ticks: `odd name`"
    if token.kind == NAME and "STRING" in accepts:
        return f"put it in quotes: '{token.text[:MAX_SHOWN]}'"
    for word in (token, before):
        # Of the reserved words only WINDOW starts a term: it fails one token later.
        if word and is_reserved(word.text) and ({NAME, ANY_NAME} & accepts if word is token else word.kind == "WINDOW"):
            return f"{word.text.upper()} is a reserved word; as a name it is written in back-ticks: `{word.text}`"
    if len(written) == 1 and not accepts & _CALLED.keys():
        only = next(iter(written))
        return f"add {only if only.isalpha() else repr(only)}" + ("" if token.kind == END else f" before {shown}")
    return ""


def _two_words(before: Token | None, token: Token) -> str:
    """Two names in a row as the one name that they may be meant to be."""
    if before is None or token.kind != NAME or before.kind not in (NAME, ANY_NAME) or "`" in before.text + token.text:
        return ""
    return f"`{before.text} {token.text}`" if len(before.text) + len(token.text) < MAX_SHOWN else ""


def _written(machine: Machine, kinds: Set[str]) -> set[str]:
    """Terminals by their spelling, if they have one."""
    return {_SPELT.get(kind) or machine.lexer.spelling.get(kind, kind) for kind in kinds}


def _expected(written: set[str]) -> str:
    """At most six things, the most telling first."""
    rest, groups = set(written), []
    for called, telling, members in _GROUPS:
        if telling <= rest:
            groups.append(called)
            rest -= members
    if "an expression" in groups:
        rest -= _CLAUSE_FORM | {"JOIN"}
    ending = [_CALLED[END]] if END in rest else []
    values = sorted({_CALLED[kind] for kind in rest - {END} if _CALLED.get(kind, "").startswith("a")})
    plain = sorted(rest - {kind for kind in _CALLED if _CALLED[kind].startswith("a")} - {END})
    words = [_CALLED.get(word, word) for word in plain if _is_word(word)]
    marks = [f"'{mark}'" for mark in plain if not _is_word(mark)]
    listed = [*(group for group in groups if group != "an operator"), *values, *words, *marks]
    listed += [group for group in groups if group == "an operator"]
    listed = listed[: MAX_EXPECTED - len(ending)] + ending
    return " or ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


def _is_word(written: str) -> bool:
    return written.replace(" ", "").isalpha()


def _shown(token: Token) -> str:
    if token.kind == END:
        return "the end of the statement"
    text = token.text if len(token.text) <= MAX_SHOWN else token.text[: MAX_SHOWN - 1] + "…"
    if token.kind == "STRING":
        return f"the string {text}"
    return f"'{text}'"
