"""The printer of SPARQL trees: full IRIs, no prefixes, no short forms but those of numbers and truth values."""

from __future__ import annotations

import re

from presage.operators.knowledge.sparql_syntax import (
    XSD_BOOLEAN,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
    Alternative,
    And,
    Arith,
    Bind,
    Blank,
    Call,
    Compare,
    Element,
    Exists,
    Expression,
    Filter,
    Group,
    In,
    Inverse,
    Iri,
    Literal,
    Minus,
    Neg,
    NegatedSet,
    Not,
    OneOrMore,
    Optional,
    Or,
    Path,
    Pos,
    Sequence,
    SubGroup,
    SubSelect,
    Term,
    Triple,
    Union,
    Values,
    Var,
    ZeroOrMore,
    ZeroOrOne,
)

# Numbers and truth values that may be written without quotes. Not those with a `+`: Oxigraph (0.5) reads `p +1` as
# the path `p+` and the object 1.
_SHORT = {
    XSD_INTEGER: re.compile(r"-?[0-9]+"),
    XSD_DECIMAL: re.compile(r"-?[0-9]*\.[0-9]+"),
    XSD_DOUBLE: re.compile(r"-?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+"),
    XSD_BOOLEAN: re.compile("true|false"),
}
_NOT_IN_IRI = re.compile(r'[<>"{}|^`\\\x00-\x20]')
_OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _ATOM = range(7)
_ALTERNATIVE, _SEQUENCE, _INVERSE, _REPEATED, _STEP = range(5)
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def print_group(group: Group) -> str:
    """What stands between the braces. A tree from the parser comes back equal when its print is parsed."""
    return " ".join([_element(element) for element in group.elements])


def print_expression(expression: Expression, tightest: int = _OR) -> str:
    """In parentheses only where it binds more loosely than what stands around it: they nest no deeper than the user's
    own, so that the parser takes them back."""
    text, level = _expression(expression)
    return text if level >= tightest else f"({text})"


def print_constraint(expression: Expression) -> str:
    """As it may stand after FILTER: a call, or in parentheses."""
    text = print_expression(expression)
    return text if isinstance(expression, Call | Exists) else f"({text})"


def _expression(expression: Expression) -> tuple[str, int]:
    """The text, and how tightly it binds."""
    match expression:
        case Var() | Iri() | Literal():
            return print_term(expression), _ATOM
        case Or(operands):
            return " || ".join([print_expression(operand, _AND) for operand in operands]), _OR
        case And(operands):
            return " && ".join([print_expression(operand, _RELATION) for operand in operands]), _AND
        case Not(operand):
            return f"! {print_expression(operand, _UNARY)}", _UNARY
        case Neg(operand):
            return f"- {print_expression(operand, _ATOM)}", _UNARY
        case Pos(operand):
            return f"+ {print_expression(operand, _ATOM)}", _UNARY
        case Compare(op, left, right):
            return f"{print_expression(left, _SUM)} {op} {print_expression(right, _SUM)}", _RELATION
        case Arith(op, left, right):
            level = _SUM if op in ("+", "-") else _PRODUCT
            return f"{print_expression(left, level)} {op} {print_expression(right, level + 1)}", level
        case In(operand, choices, negated):
            word = "NOT IN" if negated else "IN"
            members = ", ".join([print_expression(choice) for choice in choices])
            return f"{print_expression(operand, _SUM)} {word} ({members})", _RELATION
        case Exists(group, negated):
            return f"{'NOT ' if negated else ''}EXISTS {_braced(group)}", _ATOM
        case Call():
            return _call(expression), _ATOM


def print_term(term: Term) -> str:
    match term:
        case Var(name):
            return f"?{name}"
        case Blank(label):
            return f"_:{label}"
        case Iri(value):
            # An IRI that could end before its end would let another text into the query.
            if _NOT_IN_IRI.search(value):
                raise ValueError(f"not an IRI: {value!r}")
            return f"<{value}>"
        case Literal(lexical, datatype, language):
            short = _SHORT.get(datatype)
            if short and short.fullmatch(lexical):
                return lexical
            quoted = f'"{lexical.translate(_ESCAPES)}"'
            if language is not None:
                return f"{quoted}@{language}"
            return quoted if datatype == XSD_STRING else f"{quoted}^^{print_term(Iri(datatype))}"


def print_path(path: Path, tightest: int = _ALTERNATIVE) -> str:
    text, level = _path(path)
    return text if level >= tightest else f"({text})"


def _path(path: Path) -> tuple[str, int]:
    """The text, and how tightly it binds."""
    match path:
        case Iri():
            return print_term(path), _STEP
        case Inverse(inner):
            return f"^{print_path(inner, _REPEATED)}", _INVERSE
        case Sequence(steps):
            return "/".join([print_path(step, _INVERSE) for step in steps]), _SEQUENCE
        case Alternative(choices):
            return "|".join([print_path(choice, _SEQUENCE) for choice in choices]), _ALTERNATIVE
        case ZeroOrMore(inner):
            return f"{print_path(inner, _STEP)}*", _REPEATED
        case OneOrMore(inner):
            return f"{print_path(inner, _STEP)}+", _REPEATED
        case ZeroOrOne(inner):
            return f"{print_path(inner, _STEP)}?", _REPEATED
        case NegatedSet(forward, inverse):
            parts = [print_term(iri) for iri in forward] + ["^" + print_term(iri) for iri in inverse]
            return f"!({'|'.join(parts)})", _STEP


def print_values(values: Values) -> str:
    columns = " ".join([print_term(column) for column in values.columns])
    rows = [" ".join(["UNDEF" if datum is None else print_term(datum) for datum in row]) for row in values.rows]
    return f"VALUES ({columns}) {{ {' '.join([f'({row})' for row in rows])} }}"


def print_select(select: SubSelect) -> str:
    return f"{select.head} WHERE {_braced(select.group)} {select.tail}".rstrip()


def _element(element: Element) -> str:
    match element:
        case Triple(subject, predicate, node):
            verb = print_term(predicate) if isinstance(predicate, Var) else print_path(predicate)
            return f"{print_term(subject)} {verb} {print_term(node)} ."
        case Filter(expression):
            return f"FILTER {print_constraint(expression)}"
        case Bind(expression, variable):
            return f"BIND({print_expression(expression)} AS {print_term(variable)})"
        case Values():
            return print_values(element)
        case Optional(group):
            return f"OPTIONAL {_braced(group)}"
        case Minus(group):
            return f"MINUS {_braced(group)}"
        case SubGroup(group):
            return _braced(group)
        case Union(groups):
            return " UNION ".join([_braced(group) for group in groups])
        case SubSelect():
            return print_select(element)


def _braced(group: Group) -> str:
    return f"{{ {print_group(group)} }}"


def _call(call: Call) -> str:
    name = call.name if isinstance(call.name, str) else print_term(call.name)
    args = [print_expression(arg) for arg in call.args]
    distinct = "DISTINCT " if call.distinct else ""
    if name == "COUNT" and not args:
        return f"COUNT({distinct}*)"
    if name == "GROUP_CONCAT" and len(args) > 1:
        return f"GROUP_CONCAT({distinct}{args[0]} ; SEPARATOR = {args[1]})"
    return f"{name}({distinct}{', '.join(args)})"
