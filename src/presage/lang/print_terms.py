"""The printer of terms, conditions, types, options and SELECTs over history, with as few parentheses as possible."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

from presage.errors import error
from presage.lang import syntax as s
from presage.lang.identifiers import spell_name, spell_string
from presage.lang.knowledge_syntax import EventVariable, InTable, Path, Qualified
from presage.lang.recall_syntax import Exists, HistorySelect, HistorySource, InSelect, OrderTerm, Over, ScalarSelect
from presage.model.time import MICROS, format_duration, format_timestamp, to_micros
from presage.model.types import ArrayOf, DataType, MapOf, StructOf

# Levels of binding, from loose to tight, as terms.lark has them.
OR, AND, NOT, COMPARISON, CONCAT, SUM, PRODUCT, SIGN, POSTFIX = range(1, 10)
_BINARY = {"||": CONCAT, "+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT}


def print_expression(expr: s.Expr) -> str:
    """The text of a term or condition, on one line."""
    return _text(expr, OR)


def print_duration(micros: int, months: int = 0) -> str:
    """The text of a duration, of which `months` months were written as such."""
    return format_duration(micros - months * MICROS["month"], months)


def print_type(data_type: DataType) -> str:
    """The text of a type; unlike `str()` it puts irregular names of fields in back-ticks."""
    if isinstance(data_type, ArrayOf):
        return f"ARRAY<{print_type(data_type.element)}>"
    if isinstance(data_type, MapOf):
        return f"MAP<{print_type(data_type.key)}, {print_type(data_type.value)}>"
    if isinstance(data_type, StructOf):
        return f"STRUCT<{', '.join(f'{spell_name(name)} {print_type(field)}' for name, field in data_type.fields)}>"
    return str(data_type)


def _text(expr: s.Expr, level: int) -> str:
    """The text of a term, in parentheses if it binds more loosely than `level`."""
    own = _level(expr)
    return _bare(expr) if own >= level else f"({_bare(expr)})"


def _level(expr: s.Expr) -> int:
    match expr:
        case s.AnyOf():
            return OR
        case s.AllOf():
            return AND
        case s.Not():
            return NOT
        case s.Between() | s.InList() | InSelect() | s.Like() | s.IsNull():
            return COMPARISON
        case s.Binary():
            return _BINARY.get(expr.op, COMPARISON)
        case s.Unary() | s.RowsSeen():
            return SIGN
        case s.DurationLiteral() | s.Literal(value=int() | float()) if not _is_truth(expr):
            # `5.x` would parse, but is unreadable.
            return SIGN
    return POSTFIX


def _is_truth(expr: s.Expr) -> bool:
    return isinstance(expr, s.Literal) and isinstance(expr.value, bool)


def _bare(expr: s.Expr) -> str:
    match expr:
        case s.Literal():
            return print_literal(expr.value)
        case s.DurationLiteral(micros=micros, months=months):
            return print_duration(micros, months)
        case s.Name(name=name):
            return spell_name(name)
        case s.Star(of=of):
            return "*" if of is None else f"{spell_name(of)}.*"
        case s.Member(base=base, name=name):
            return f"{_text(base, POSTFIX)}.{spell_name(name)}"
        case s.Index(base=base, index=index):
            return f"{_text(base, POSTFIX)}[{_text(index, OR)}]"
        case s.Method(base=base, name=name, args=args):
            return f"{_text(base, POSTFIX)}.{spell_name(name)}({_listed(args)})"
        case s.Call(name=name, args=args, distinct=distinct):
            return f"{_function(name)}({'DISTINCT ' if distinct else ''}{_listed(args)})"
        case s.Cast(operand=operand, type=target):
            return f"CAST({_text(operand, OR)} AS {print_type(target)})"
        case s.Case():
            return _case(expr)
        case Path(text=text):
            return f"PATH {{ {text} }}" if "#" not in text else f"PATH {{ {text}\n}}"
        case InTable(table=table, args=args, values=values):
            return f"{table}({_listed((*args, *values))})"
        case ScalarSelect(select=select):
            return f"({print_select(select)})"
        case Exists(select=select):
            return f"EXISTS ({print_select(select)})"
        case Over(call=call, partition=partition, order=order):
            parts = [f"PARTITION BY {_listed(partition)}"] if partition else []
            parts += [_order_by(order)] if order else []
            return f"{_bare(call)} OVER ({' '.join(parts)})"
        case EventVariable(name=name):
            return f"?{name}"
        case Qualified(base=base, prefix=prefix, name=name):
            return f"{_text(base, POSTFIX)}.{prefix}:{name}"
    return _operation(expr)


def _operation(expr: s.Expr) -> str:
    match expr:
        case s.Unary(op=op, operand=operand):
            inner = _text(operand, SIGN)
            # Two minus signs in a row would start a comment.
            return f"{op} {inner}" if inner.startswith(op) else f"{op}{inner}"
        case s.Binary(op=op, left=left, right=right):
            level = _level(expr)
            # Comparisons do not chain; the others associate to the left.
            left_level = CONCAT if level == COMPARISON else level
            return f"{_text(left, left_level)} {op} {_text(right, level + 1)}"
        case s.RowsSeen(operand=operand, final=final):
            return f"{'FINAL' if final else 'RUNNING'} {_text(operand, POSTFIX)}"
        case s.Not(operand=operand):
            return f"NOT {_text(operand, NOT)}"
        case s.AllOf(operands=operands):
            return " AND ".join(_text(operand, NOT) for operand in operands)
        case s.AnyOf(operands=operands):
            return " OR ".join(_text(operand, AND) for operand in operands)
        case s.Between(operand=operand, low=low, high=high, negated=negated, above=above, below=below):
            if above or below:
                # Blanks, because x:y is a term of the domain after a dot.
                bounds = f"{'[('[above]}{_text(low, CONCAT)} : {_text(high, CONCAT)}{'])'[below]}"
                return f"{_text(operand, CONCAT)} {_negated(negated)}IN {bounds}"
            bounds = f"{_text(low, CONCAT)} AND {_text(high, CONCAT)}"
            return f"{_text(operand, CONCAT)} {_negated(negated)}BETWEEN {bounds}"
        case s.InList(operand=operand, items=items, negated=negated):
            return f"{_text(operand, CONCAT)} {_negated(negated)}IN ({_listed(items)})"
        case InSelect(operand=operand, select=select, negated=negated):
            return f"{_text(operand, CONCAT)} {_negated(negated)}IN ({print_select(select)})"
        case s.Like(operand=operand, pattern=pattern, negated=negated):
            return f"{_text(operand, CONCAT)} {_negated(negated)}LIKE {_text(pattern, CONCAT)}"
        case s.IsNull(operand=operand, negated=negated):
            return f"{_text(operand, CONCAT)} IS {_negated(negated)}NULL"
    raise error("INTERNAL", what=f"a {type(expr).__name__} has no text")


def print_literal(value: s.LiteralValue | None) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return spell_string(value)
        case datetime():
            return f"TIMESTAMP '{format_timestamp(to_micros(value))}'"
        case date():
            return f"DATE '{value.isoformat()}'"
        case Decimal():
            return f"DECIMAL '{value:f}'"
        case bytes():
            return f"X'{value.hex().upper()}'"
    return repr(value)


def _function(name: str) -> str:
    # The aggregate window(x): the one reserved word that is a function's name.
    return name if name.isascii() and name.upper() == "WINDOW" else spell_name(name)


def _case(expr: s.Case) -> str:
    parts = ["CASE"] if expr.operand is None else [f"CASE {_text(expr.operand, OR)}"]
    parts += [f"WHEN {_text(condition, OR)} THEN {_text(result, OR)}" for condition, result in expr.branches]
    if expr.otherwise is not None:
        parts.append(f"ELSE {_text(expr.otherwise, OR)}")
    return " ".join([*parts, "END"])


def _listed(parts: tuple[s.Expr, ...]) -> str:
    return ", ".join(_text(part, OR) for part in parts)


def _negated(negated: bool) -> str:
    return "NOT " if negated else ""


def print_options(options: tuple[s.Option, ...]) -> str:
    """`WITH (…)`."""
    return f"WITH ({', '.join(f'{_option_name(option.name)} = {print_literal(option.value)}' for option in options)})"


def _option_name(name: str) -> str:
    """Each part of a dotted name; the whole name if a part is empty."""
    parts = name.split(".")
    return ".".join(spell_name(part) for part in parts) if all(parts) else spell_name(name)


# -- SELECTs over history ------------------------------------------------------------------------------


def print_select(select: HistorySelect) -> str:
    """`SELECT … FROM … WHERE …` on one line, without parentheses around it."""
    items = ", ".join([print_item(item) for item in select.select])
    parts = [f"SELECT {'DISTINCT ' if select.distinct else ''}{items}"]
    if select.sources:
        first, *others = [_source(source) for source in select.sources]
        parts.append(f"FROM {first.removeprefix(', ')}" + "".join(others))
    for recall in select.recalls:
        back = f"LAST {format_duration(recall.last)} " if recall.last is not None else ""
        parts.append(f"RECALL {back}({print_select(recall.select)}) AS {spell_name(recall.alias)}")
    if select.where is not None:
        parts.append(f"WHERE {print_expression(select.where)}")
    if select.group_by:
        parts.append(f"GROUP BY {_listed(select.group_by)}")
    if select.having is not None:
        parts.append(f"HAVING {print_expression(select.having)}")
    if select.order_by:
        parts.append(_order_by(select.order_by))
    if select.limit is not None:
        parts.append(f"LIMIT {select.limit}")
    return " ".join(parts)


def print_item(item: s.SelectItem) -> str:
    return print_expression(item.expr) + (f" AS {spell_name(item.alias)}" if item.alias is not None else "")


def _source(source: HistorySource) -> str:
    """A source with the comma or the JOIN before it."""
    text = f"({print_select(source.select)})" if source.select is not None else spell_name(source.name)
    if source.alias is not None:
        text += f" AS {spell_name(source.alias)}"
    if source.window is not None:
        text += f" WINDOW {format_duration(source.window)}"
    if source.on is None:
        return f", {text}"
    return f" {'LEFT ' if source.outer else ''}JOIN {text} ON {print_expression(source.on)}"


def _order_by(terms: tuple[OrderTerm, ...]) -> str:
    nulls = {None: "", True: " NULLS FIRST", False: " NULLS LAST"}
    keys = [f"{print_expression(t.expr)}{' DESC' if t.descending else ''}{nulls[t.nulls_first]}" for t in terms]
    return f"ORDER BY {', '.join(keys)}"
