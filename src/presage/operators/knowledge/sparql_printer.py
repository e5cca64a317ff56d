"""The printer of SPARQL trees: full IRIs, no prefixes, no short forms but those of numbers and truth values."""

from __future__ import annotations

import re

from presage.operators.knowledge import namespaces as ns
from presage.operators.knowledge import sparql_syntax as q

# Numbers and truth values that may be written without quotes. Not those with a `+`: Oxigraph (0.5) reads `p +1` as
# the path `p+` and the object 1.
_SHORT = {
    ns.XSD_INTEGER: re.compile(r"-?[0-9]+"),
    ns.XSD_DECIMAL: re.compile(r"-?[0-9]*\.[0-9]+"),
    ns.XSD_DOUBLE: re.compile(r"-?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+)[eE][+-]?[0-9]+"),
    ns.XSD_BOOLEAN: re.compile("true|false"),
}
_NOT_IN_IRI = re.compile(r'[<>"{}|^`\\\x00-\x20]')
_OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _ATOM = range(7)
_ALTERNATIVE, _SEQUENCE, _INVERSE, _REPEATED, _STEP = range(5)
_SIGNS: dict[type, tuple[str, int]] = {q.Not: ("!", _UNARY), q.Neg: ("-", _ATOM), q.Pos: ("+", _ATOM)}
_REPEATS: dict[type, str] = {q.ZeroOrMore: "*", q.OneOrMore: "+", q.ZeroOrOne: "?"}
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})


def print_group(group: q.Group) -> str:
    """The text between the braces. Parsing it gives an equal tree."""
    return " ".join([_element(element) for element in group.elements])


def print_expression(expression: q.Expression, tightest: int = _OR) -> str:
    """The text, in parentheses only if it binds more loosely than its surroundings (`tightest`).

    Parentheses thus nest no deeper than in the user's text, and the parser's limit of nesting holds for the print.
    """
    text, level = _expression(expression)
    return text if level >= tightest else f"({text})"


def print_constraint(expression: q.Expression) -> str:
    """The text after FILTER: a call, or an expression in parentheses."""
    text = print_expression(expression)
    return text if isinstance(expression, q.Call | q.Exists) else f"({text})"


def _expression(expression: q.Expression) -> tuple[str, int]:
    """The text, and how tightly it binds."""
    match expression:
        case q.Var() | q.Iri() | q.Literal():
            return print_term(expression), _ATOM
        case q.Or(operands):
            return " || ".join([print_expression(operand, _AND) for operand in operands]), _OR
        case q.And(operands):
            return " && ".join([print_expression(operand, _RELATION) for operand in operands]), _AND
        case q.Not(operand) | q.Neg(operand) | q.Pos(operand):
            sign, operand_level = _SIGNS[type(expression)]
            return f"{sign} {print_expression(operand, operand_level)}", _UNARY
        case q.Compare(op, left, right):
            return f"{print_expression(left, _SUM)} {op} {print_expression(right, _SUM)}", _RELATION
        case q.Arith(op, left, right):
            level = _SUM if op in ("+", "-") else _PRODUCT
            return f"{print_expression(left, level)} {op} {print_expression(right, level + 1)}", level
        case q.In(operand, choices, negated):
            word = "NOT IN" if negated else "IN"
            members = ", ".join([print_expression(choice) for choice in choices])
            return f"{print_expression(operand, _SUM)} {word} ({members})", _RELATION
        case q.Exists(group, negated):
            return f"{'NOT ' if negated else ''}EXISTS {_braced(group)}", _ATOM
        case q.Call():
            return _call(expression), _ATOM


def print_term(term: q.Term) -> str:
    match term:
        case q.Var(name):
            return f"?{name}"
        case q.Blank(label):
            return f"_:{label}"
        case q.Iri(value):
            # Injection: an IRI with a `>` in it would end early.
            if _NOT_IN_IRI.search(value):
                raise ValueError(f"not an IRI: {value!r}")
            return f"<{value}>"
        case q.Literal(lexical, datatype, language):
            short = _SHORT.get(datatype)
            if short and short.fullmatch(lexical):
                return lexical
            quoted = f'"{lexical.translate(_ESCAPES)}"'
            if language is not None:
                return f"{quoted}@{language}"
            return quoted if datatype == ns.XSD_STRING else f"{quoted}^^{print_term(q.Iri(datatype))}"


def print_path(path: q.Path, tightest: int = _ALTERNATIVE) -> str:
    text, level = _path(path)
    return text if level >= tightest else f"({text})"


def _path(path: q.Path) -> tuple[str, int]:
    """The text, and how tightly it binds."""
    match path:
        case q.Iri():
            return print_term(path), _STEP
        case q.Inverse(inner):
            return f"^{print_path(inner, _REPEATED)}", _INVERSE
        case q.Sequence(steps):
            return "/".join([print_path(step, _INVERSE) for step in steps]), _SEQUENCE
        case q.Alternative(choices):
            return "|".join([print_path(choice, _SEQUENCE) for choice in choices]), _ALTERNATIVE
        case q.ZeroOrMore(inner) | q.OneOrMore(inner) | q.ZeroOrOne(inner):
            return f"{print_path(inner, _STEP)}{_REPEATS[type(path)]}", _REPEATED
        case q.NegatedSet(forward, inverse):
            parts = [print_term(iri) for iri in forward] + ["^" + print_term(iri) for iri in inverse]
            return f"!({'|'.join(parts)})", _STEP


def print_values(values: q.Values) -> str:
    columns = " ".join([print_term(column) for column in values.columns])
    rows = [" ".join(["UNDEF" if datum is None else print_term(datum) for datum in row]) for row in values.rows]
    return f"VALUES ({columns}) {{ {' '.join([f'({row})' for row in rows])} }}"


def _element(element: q.Element) -> str:
    match element:
        case q.Triple(subject, predicate, node):
            verb = print_term(predicate) if isinstance(predicate, q.Var) else print_path(predicate)
            return f"{print_term(subject)} {verb} {print_term(node)} ."
        case q.Filter(expression):
            return f"FILTER {print_constraint(expression)}"
        case q.Bind(expression, variable):
            return f"BIND({print_expression(expression)} AS {print_term(variable)})"
        case q.Values():
            return print_values(element)
        case q.Optional(group):
            return f"OPTIONAL {_braced(group)}"
        case q.Minus(group):
            return f"MINUS {_braced(group)}"
        case q.SubGroup(group):
            return _braced(group)
        case q.Union(groups):
            return " UNION ".join([_braced(group) for group in groups])
        case q.SubSelect(head, group, tail):
            return f"{head} WHERE {_braced(group)} {tail}".rstrip()


def _braced(group: q.Group) -> str:
    return f"{{ {print_group(group)} }}"


def _call(call: q.Call) -> str:
    name = call.name if isinstance(call.name, str) else print_term(call.name)
    args = [print_expression(arg) for arg in call.args]
    distinct = "DISTINCT " if call.distinct else ""
    if name == "COUNT" and not args:
        return f"COUNT({distinct}*)"
    if name == "GROUP_CONCAT" and len(args) > 1:
        return f"GROUP_CONCAT({distinct}{args[0]} ; SEPARATOR = {args[1]})"
    return f"{name}({distinct}{', '.join(args)})"
