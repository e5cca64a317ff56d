"""The table of rules that suggest a fix for a syntax error, in order: the first one that applies is shown.

Apart from `diagnosis`, which states facts: a rule here guesses what the user meant.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass

from presage.lang.identifiers import is_reserved
from presage.lang.lexer import ANY_NAME, END, NAME, Token

MAX_SHOWN = 40
STATEMENTS = (
    *("SELECT", "INSERT", "PREFIX", "CREATE", "EXPLAIN", "SHOW", "DESCRIBE", "DROP", "REFRESH"),
    *("CANCEL", "ACCELERATE", "CONTINUE"),
)
# Reserved words that users write as names.
_NAMELIKE = {"WINDOW", "CONTEXT", "FINAL", "DEFINE"}
_COMPARISONS = {"=", "==", "<>", "!=", "<", "<=", ">", ">="}
_VALUE_STARTS = (NAME, ANY_NAME, "NUMBER", "STRING", "DURATION", "CASE", "CAST")
_NO_TOKEN = Token("", "", 0, 0)


@dataclass(frozen=True)
class Failure:
    """The failing token, the token before it, and what the grammar accepts there: `accepts` as terminals, `written` as
    users spell them. `only` is the single word or mark that could follow, if there is one."""

    token: Token
    previous: Token | None
    accepts: Set[str]
    written: Set[str]
    only: str = ""

    @property
    def before(self) -> Token:
        return self.previous or _NO_TOKEN

    @property
    def word(self) -> str:
        return self.token.text.upper()

    @property
    def shown(self) -> str:
        return shown(self.token)

    @property
    def short(self) -> str:
        return self.token.text[:MAX_SHOWN]

    @property
    def starts_value(self) -> bool:
        return self.token.kind in _VALUE_STARTS

    @property
    def accepts_name(self) -> bool:
        return bool({NAME, ANY_NAME} & self.accepts)

    @property
    def two_words(self) -> str:
        """Two names in a row as one quoted name, if that may be meant."""
        first, second = self.before.text, self.token.text
        if self.token.kind != NAME or self.before.kind not in (NAME, ANY_NAME) or "`" in first + second:
            return ""
        return f"`{first} {second}`" if len(first) + len(second) < MAX_SHOWN else ""

    @property
    def reserved(self) -> str:
        """The reserved word that was written as a name. WINDOW also starts a term, so it fails one token later."""
        if is_reserved(self.token.text) and self.accepts_name:
            return self.token.text
        return self.before.text if self.before.kind == "WINDOW" and is_reserved(self.before.text) else ""


Rule = tuple[Callable[[Failure], object], str | Callable[[Failure], str]]


def fix_for(failure: Failure) -> str:
    """The fix of the first rule that applies; empty if none does."""
    for applies, fix in _RULES:
        if applies(failure):
            return fix if isinstance(fix, str) else fix(failure)
    return ""


def shown(token: Token) -> str:
    if token.kind == END:
        return "the end of the statement"
    text = token.text if len(token.text) <= MAX_SHOWN else token.text[: MAX_SHOWN - 1] + "…"
    return f"the string {text}" if token.kind == "STRING" else f"'{text}'"


def _missing_comma(f: Failure) -> str:
    naming = f", or AS, if {f.shown} names the column" if "AS" in f.written and f.token.kind == NAME else ""
    spaced = f", or back-ticks, if the name has a space: {f.two_words}" if f.two_words else ""
    return f"is a comma missing before {f.shown}{naming}{spaced}?"


def _missing_word(f: Failure) -> str:
    place = "" if f.token.kind == END else f" before {f.shown}"
    return f"add {f.only if f.only.isalpha() else repr(f.only)}{place}"


_RULES: tuple[Rule, ...] = (
    (
        lambda f: f.before.text == "," and f.word not in _NAMELIKE and f.token.kind != END and not f.starts_value,
        lambda f: f"remove the comma before {f.shown}",
    ),
    (lambda f: f.word in STATEMENTS and END in f.accepts, lambda f: f"is a ';' missing before {f.shown}?"),
    (
        lambda f: f.token.text == "@" and "ANY_TAG" in f.accepts,
        "annotations come before the bracket: PATTERN @Name [ … ]; @consume after its event: a=A@consume",
    ),
    (
        lambda f: f.token.text == ";" and len(f.written) > 1,
        "leave it out: within a statement a ';' only separates the subgoals of SEQUENCE [ … ; … ]",
    ),
    (lambda f: f.token.text in (",", "->") and ";" in f.written, "separate subgoals by ';'"),
    (
        lambda f: f.token.kind == "WHERE" and ";" in f.written,
        "write a condition on repeated events inside: (g WHERE c)+{p | d}, where d is tested at every repeat",
    ),
    (
        lambda f: f.before.kind == "QUALIFIED" and ":" in f.written,
        lambda f: f"write blanks around the ':' of a range: {f.before.text[:MAX_SHOWN].replace(':', ' : ')}",
    ),
    (
        lambda f: f.token.text == ":" and f.before.kind == NAME and "AND" in f.written,
        lambda f: f"a term is one of an event: e.{f.before.text[:MAX_SHOWN]}:… with FROM … AS e",
    ),
    (
        lambda f: f.word == "WITHIN" and "UNTIL" in f.written,
        "a term's time limit comes after it: a=A -> b=B WHERE timer:within(1 min)",
    ),
    (
        lambda f: f.token.kind == "DURATION" and f.before.kind == "WITHIN",
        lambda f: (
            "WITHIN bounds the whole query: WITHIN [2024-03-01, now]; a pattern's limit goes into its brackets: "
            f"WHERE timer:within({f.short})"
        ),
    ),
    (
        lambda f: f.token.kind == "STRING" and f.before.text.upper() == "INTERVAL",
        "write a duration without INTERVAL and quotes: 1 min",
    ),
    (lambda f: f.token.text == "." and "#" in f.written, "a window is written with #: #time(1 min), #length(10)"),
    (
        lambda f: f.token.text in _COMPARISONS and "UNTIL" in f.written,
        "what follows is written with ->, and a filter in parentheses: a=A(x > 1) -> b=B",
    ),
    (
        lambda f: f.token.text in _COMPARISONS and "AND" in f.written,
        "comparisons do not chain: join two of them by AND",
    ),
    (lambda f: f.starts_value and "," in f.written, _missing_comma),
    (
        lambda f: f.two_words and "AND" in f.written and "UNTIL" not in f.written,
        lambda f: f"a name with a space is written in back-ticks: {f.two_words}",
    ),
    (lambda f: f.token.kind == "SELECT" and "CONTEXT" in f.written, "say what is compared: CONTEXT SELECT …"),
    (
        lambda f: f.word in ("CONTEXT", "WITH") and "PART_COMMA" in f.accepts,
        lambda f: f"is a comma missing before {f.shown}?",
    ),
    (
        lambda f: f.before.kind == "LAST" and "DURATION" in f.accepts and f.token.kind != "NUMBER",
        "say how far back: LAST 4 weeks",
    ),
    (
        lambda f: f.before.kind == "WINDOW" and "DURATION" in f.accepts and f.token.kind != "NUMBER",
        "say how far apart in time two values may be: WINDOW 3 sec",
    ),
    (
        lambda f: f.token.kind in (NAME, "NUMBER") and f.accepts == {"STRING"},
        lambda f: f"put it in quotes: '{f.short}'",
    ),
    (lambda f: f.token.kind == "NUMBER" and "DURATION" in f.accepts, lambda f: f"add the unit: {f.short} sec"),
    (
        lambda f: f.token.kind == "STRING" and f.accepts_name,
        "write a name without quotes, or in back-ticks: `odd name`",
    ),
    (lambda f: f.token.kind == NAME and "STRING" in f.accepts, lambda f: f"put it in quotes: '{f.short}'"),
    (
        lambda f: f.reserved,
        lambda f: f"{f.reserved.upper()} is a reserved word; as a name it is written in back-ticks: `{f.reserved}`",
    ),
    (lambda f: f.only, _missing_word),
)
