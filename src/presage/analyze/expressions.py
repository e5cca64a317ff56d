"""The binder of expressions: from syntax to typed plan expressions, with SQL's null logic."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal

from presage.analyze.scope import Scope, ScopeItem, one_event_fix
from presage.analyze.type_rules import arithmetic, cast_to, coerce_literal, comparable, described
from presage.errors import did_you_mean, error
from presage.functions.aggregates import (
    COUNTS_ONCE,
    AggregateFunction,
    aggregates,
    bound_arguments,
    check_count,
    is_aggregate,
    resolve_aggregate,
)
from presage.functions.epl_functions import refuse_method
from presage.functions.resolve import check_known, constants_of, is_function, resolve_function
from presage.lang import syntax as s
from presage.lang.knowledge_syntax import EventVariable, InTable
from presage.model import types as t
from presage.model.decimals import type_of
from presage.model.time import EPOCH_DAY, to_micros
from presage.model.types import ArrayOf, DataType, MapOf, StructOf
from presage.plan import expr as e
from presage.plan.constants import opposite

INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")


class ExpressionBinder:
    """Binds the expressions of one query. `no_aggregates_in` names a clause that allows no aggregates."""

    def __init__(self, scope: Scope, no_aggregates_in: str = "") -> None:
        self.scope = scope
        self.no_aggregates_in = no_aggregates_in
        self._inside_aggregate = False
        self._binders: dict[type, Callable[..., e.Expr]] = {
            s.Literal: self._literal,
            s.DurationLiteral: self._duration,
            s.Name: self._name,
            s.Member: self._member,
            s.Index: self._index,
            s.Method: self._method,
            s.Star: self._star,
            s.Call: self._call,
            s.Unary: self._unary,
            s.Binary: self._binary,
            s.Not: self._not,
            s.AllOf: self._all_of,
            s.AnyOf: self._any_of,
            s.Between: self._between,
            s.InList: self._in_list,
            s.Like: self._like,
            s.IsNull: self._is_null,
            s.Case: self._case,
            s.Cast: self._cast,
            InTable: self._in_table,
            EventVariable: lambda node: self.bind(s.Name(node.name, span=node.span)),
        }

    def bind(self, node: s.Expr) -> e.Expr:
        """An expression as a value: a duration becomes a number of seconds."""
        bound = self.bind_term(node)
        if not isinstance(bound, e.Duration):
            return bound
        if bound.months:
            where = "as a number of seconds: months differ in length"
            fix = "compare times, as in b.at < a.at + 1 month, or write 30 days"
            raise error("UNSUPPORTED", node.span, what="a month", where=where, fix=fix)
        return e.Constant(t.DOUBLE, bound.micros / 1e6, span=bound.span)

    def bind_term(self, node: s.Expr) -> e.Expr:
        """An expression; a duration stays a Duration."""
        return self._binders[type(node)](node)

    def condition(self, node: s.Expr, where: str) -> e.Expr:
        """A bound expression that must be BOOLEAN."""
        bound = self.bind(node)
        return self._boolean(bound, node, where)

    # -- leaves -------------------------------------------------------------------------------------

    def _literal(self, node: s.Literal) -> e.Expr:
        value = node.value
        if value is None:
            return e.Constant(t.NULL, None, span=node.span)
        if isinstance(value, bool):
            return e.Constant(t.BOOLEAN, value, span=node.span)
        if isinstance(value, int):
            if value > LONG_MAX:
                expected, fix = f"at most {LONG_MAX}", "write it with a decimal point to make it a DOUBLE"
                raise error("BAD_VALUE", node.span, what="the number", found=value, expected=expected, fix=fix)
            return e.Constant(t.INT if value <= INT_MAX else t.LONG, value, span=node.span)
        if isinstance(value, float):
            return e.Constant(t.DOUBLE, value, span=node.span)
        if isinstance(value, Decimal):
            return e.Constant(type_of(value), value, span=node.span)
        if isinstance(value, datetime):
            return e.Constant(t.TIMESTAMP, to_micros(value), span=node.span)
        if isinstance(value, date):
            return e.Constant(t.DATE, value.toordinal() - EPOCH_DAY, span=node.span)
        if isinstance(value, bytes):
            return e.Constant(t.BYTES, value, span=node.span)
        return e.Constant(t.STRING, value, span=node.span)

    def _duration(self, node: s.DurationLiteral) -> e.Expr:
        return e.Duration(t.LONG, node.micros, node.months, span=node.span)

    def _name(self, node: s.Name) -> e.Expr:
        item = self.scope.item(node.name)
        if item is not None and all(i.find(node.name) is None for i in self.scope.items):
            return item.as_struct(node.span)
        return self.scope.attribute(node.name, node.span)

    def _member(self, node: s.Member) -> e.Expr:
        if isinstance(node.base, s.Name):
            item = self.scope.item(node.base.name)
            if item is not None and item.repeated:
                what, several = f"the attribute '{node.name}'", f"'{item.alias}', which holds several"
                fix = f"write {item.alias}[0].{node.name}"
                raise error("TYPE_MISMATCH", node.span, what=what, expected="one event", found=several, fix=fix)
            if item is not None:
                column = item.column(node.name, node.span)
                if column is None:
                    fix = did_you_mean(node.name, [n for n, _ in item.attributes])
                    raise error("UNKNOWN_ATTRIBUTE", node.span, owner=item.title, name=node.name, fix=fix)
                return column
            if all(i.find(node.base.name) is None for i in self.scope.items):
                known = [i.alias for i in self.scope.items] + [n for i in self.scope.items for n, _ in i.attributes]
                renamed = next((i.alias for i in self.scope.items if i.title.endswith(f"'{node.base.name}'")), None)
                fix = f"use its alias: {renamed}.{node.name}" if renamed else did_you_mean(node.base.name, known)
                raise error("UNKNOWN_ALIAS", node.base.span, name=node.base.name, fix=fix)
        base = self.bind(node.base)
        if not isinstance(base.type, StructOf):
            what = f"the access '.{node.name}'"
            raise error("TYPE_MISMATCH", node.span, what=what, expected="a STRUCT", found=base.type)
        found = base.type.field(node.name)
        if found is None:
            known = [n for n, _ in base.type.fields]
            fix = did_you_mean(node.name, known)
            raise error("UNKNOWN_ATTRIBUTE", node.span, owner=str(base.type), name=node.name, fix=fix)
        return e.FieldOf(found, base, node.name, span=node.span)

    def _index(self, node: s.Index) -> e.Expr:
        base, index = self._list(node.base), self.bind(node.index)
        if isinstance(base.type, ArrayOf):
            if not t.is_integral(index.type):
                raise error("TYPE_MISMATCH", node.index.span, what="an array's index", expected="INT", found=index.type)
            item = self._item_of(node.base)
            if item is not None and isinstance(index, e.Constant):
                item.check_index(index.value, node.index.span)
            return e.ElementOf(base.type.element, base, index, span=node.span)
        if isinstance(base.type, MapOf):
            key = coerce_literal(index, base.type.key)
            if t.common_type(key.type, base.type.key) != base.type.key:
                raise error(
                    "TYPE_MISMATCH", node.index.span, what="the map's key", expected=base.type.key, found=index.type
                )
            return e.ElementOf(base.type.value, base, cast_to(key, base.type.key), span=node.span)
        expected, fix = "an ARRAY or a MAP", one_event_fix(self._item_of(node.base))
        raise error("TYPE_MISMATCH", node.span, what="the access [ ]", expected=expected, found=base.type, fix=fix)

    def _item_of(self, node: s.Expr) -> ScopeItem | None:
        return self.scope.item(node.name) if isinstance(node, s.Name) else None

    def _list(self, node: s.Expr) -> e.Expr:
        """The operand of `[…]` and `.lastOf()`: a repeated tag takes precedence over an attribute of its name."""
        item = self._item_of(node)
        if item is None or not item.repeated:
            return self.bind(node)
        for other in self.scope.items:
            if isinstance(other.find(item.alias), ArrayOf | MapOf):
                fix, candidates = f"another tag than '{item.alias}'", f"{item.title} or an attribute of {other.title}"
                raise error("AMBIGUOUS_NAME", node.span, name=item.alias, fix=fix, candidates=candidates)
        return item.as_struct(node.span)

    def _method(self, node: s.Method) -> e.Expr:
        base = self._list(node.base)
        name = node.name.lower()
        if name not in ("firstof", "lastof"):
            refuse_method(node.name, node.span, is_function(name) or is_aggregate(name))
            fix = did_you_mean(node.name, ["firstOf", "lastOf"])
            raise error("UNKNOWN_FUNCTION", node.span, name=node.name, fix=fix)
        if node.args:
            raise error("WRONG_ARGUMENTS", node.span, name=node.name, expected="no argument", found=len(node.args))
        if not isinstance(base.type, ArrayOf):
            what, fix = f"{node.name}()", one_event_fix(self._item_of(node.base))
            raise error("TYPE_MISMATCH", node.span, what=what, expected="an ARRAY", found=base.type, fix=fix)
        zero = e.Constant(t.INT, 0)
        return e.ElementOf(base.type.element, base, zero, from_end=name == "lastof", span=node.span)

    def _star(self, node: s.Star) -> e.Expr:
        fix = "write * as an item of SELECT or in count(*)"
        raise error("SYNTAX", node.span, found="'*'", expected="an expression", fix=fix)

    # -- calls --------------------------------------------------------------------------------------

    def _call(self, node: s.Call) -> e.Expr:
        if node.name in self.scope.catalog.relations:
            return self._in_relation(node)
        if is_aggregate(node.name):
            return self._aggregate(node)
        if node.distinct:
            *some, last = (each.name for each in aggregates() if each.distinct == COUNTS_ONCE)
            fix = f"DISTINCT belongs to the aggregates {', '.join(some)} and {last}"
            raise error("WRONG_ARGUMENTS", node.span, name=node.name, expected="no DISTINCT", found="DISTINCT", fix=fix)
        relations = self.scope.catalog.relations
        if any(isinstance(arg, s.Star) for arg in node.args):
            check_known(node.name, node.span, relations)
        args = tuple(self.bind(a) for a in node.args)
        decimal = next((a.type for a in args if isinstance(a.type, t.DecimalOf)), None)
        if decimal is not None:
            args = tuple(coerce_literal(a, decimal) if a.type == t.DOUBLE else a for a in args)
        resolved = resolve_function(node.name, tuple(a.type for a in args), node.span, constants_of(args), relations)
        cast = tuple(cast_to(coerce_literal(a, want), want) for a, want in zip(args, resolved.coerced, strict=True))
        made = e.FunctionCall(resolved.result, resolved.name, cast, span=node.span)
        return e.CastTo(t.DATE, made, span=node.span) if resolved.of_days else made

    def _aggregate(self, node: s.Call) -> e.Expr:
        if self.no_aggregates_in:
            conditional = "condition" in self.no_aggregates_in or "filter" in self.no_aggregates_in
            fix = "compute it in a statement of its own with INSERT INTO"
            fix = "use HAVING for a condition on an aggregate" if conditional else fix
            raise error(
                "AGGREGATE_NOT_ALLOWED", node.span, name=f"{node.name}(…)", where=self.no_aggregates_in, fix=fix
            )
        if self._inside_aggregate:
            fix = "compute the inner one in a statement of its own with INSERT INTO"
            raise error("AGGREGATE_NOT_ALLOWED", node.span, name=f"{node.name}(…)", where="another aggregate", fix=fix)
        function = check_count(node.name, len(node.args), node.span)
        self._inside_aggregate = True
        try:
            args = [self._aggregate_argument(function, arg) for arg in node.args]
        finally:
            self._inside_aggregate = False
        bound: e.Expr | None = None
        constants: tuple[object, ...] = ()
        if args != [None]:
            bound, constants = bound_arguments(function, [arg for arg in args if arg is not None])
        result = resolve_aggregate(function.name, bound.type if bound else None, node.distinct, node.span)
        return e.AggregateCall(result, function.name, bound, node.distinct, constants, span=node.span)

    def _aggregate_argument(self, function: AggregateFunction, arg: s.Expr) -> e.Expr | None:
        name = function.name
        if not isinstance(arg, s.Star):
            return self.bind(arg)
        if function.counts_rows and arg.of is None:
            return None
        if function.takes_events:
            item = self.scope.item(arg.of) if arg.of else self.scope.items[0] if len(self.scope.items) == 1 else None
            if item is not None:
                return item.as_struct(arg.span)
        raise error("WRONG_ARGUMENTS", arg.span, name=name, expected="an expression", found="*")

    def _in_relation(self, node: s.Call) -> e.Expr:
        relation = self.scope.catalog.relations[node.name]
        if len(node.args) != len(relation.attributes):
            names = ", ".join(a.name for a in relation.attributes)
            name, expected = f"the relation '{node.name}'", f"{len(relation.attributes)} terms ({names})"
            raise error("WRONG_ARGUMENTS", node.span, name=name, expected=expected, found=len(node.args))
        columns, args = [], []
        for attribute, arg in zip(relation.attributes, node.args, strict=True):
            if isinstance(arg, s.Name) and arg.name == "_":
                continue
            bound = coerce_literal(self.bind(arg), attribute.type)
            if t.common_type(bound.type, attribute.type) is None:
                what = f"'{attribute.name}' of the relation '{node.name}'"
                raise error("TYPE_MISMATCH", arg.span, what=what, expected=attribute.type, found=bound.type)
            columns.append(attribute.name)
            args.append(bound)
        return e.InRelation(t.BOOLEAN, node.name, tuple(columns), tuple(args), span=node.span)

    def _in_table(self, node: InTable) -> e.Expr:
        args = tuple(self.bind(arg) for arg in node.args)
        values = tuple(self.bind(value) for value in node.values)
        if node.condition is None:
            return e.InRelation(t.BOOLEAN, node.table, node.attributes, args, span=node.span)
        given = tuple((f"{e.GIVEN}{i}", value.type) for i, value in enumerate(values))
        pairs = ExpressionBinder(Scope([ScopeItem("", "a row of a table", (*given, *node.columns))]))
        named = {f".{name}": name for name, _ in (*given, *node.columns)}

        def own_name(expr: e.Expr) -> e.Expr:
            return e.ColumnRef(expr.type, named[expr.name]) if isinstance(expr, e.ColumnRef) else expr

        bound = pairs.condition(node.condition, "PATH").rewrite(own_name)
        condition = e.RowCondition(bound, tuple(name for name, _ in node.columns))
        return e.InRelation(t.BOOLEAN, node.table, node.attributes, args, values, condition, span=node.span)

    # -- operators ----------------------------------------------------------------------------------

    def _unary(self, node: s.Unary) -> e.Expr:
        operand = self.bind_term(node.operand)
        if not t.is_number(operand.type) or isinstance(operand, e.Duration):
            found = described(operand)
            fix = "write the duration without a sign" if isinstance(operand, e.Duration) else ""
            what = f"unary '{node.op}'"
            raise error("TYPE_MISMATCH", node.span, what=what, expected="a number", found=found, fix=fix)
        if operand.type == t.NULL:
            operand = cast_to(operand, t.DOUBLE)
        if node.op == "+":
            return operand
        if isinstance(operand, e.Constant) and operand.value is not None:
            return e.Constant(operand.type, opposite(operand.value), span=node.span)  # type: ignore[arg-type]
        return e.Negate(operand.type, operand, span=node.span)

    def _binary(self, node: s.Binary) -> e.Expr:
        if node.op not in COMPARISONS and node.op != "||":
            return arithmetic(node, self.bind_term(node.left), self.bind_term(node.right))
        left, right = self.bind(node.left), self.bind(node.right)
        if node.op in COMPARISONS:
            left, right = comparable(left, right, node.span)
            return e.Comparison(t.BOOLEAN, node.op, left, right, span=node.span)
        for side, bound in ((node.left, left), (node.right, right)):
            if bound.type not in (t.STRING, t.NULL):
                fix = "write CAST(… AS STRING)"
                raise error("TYPE_MISMATCH", side.span, what="'||'", expected="STRING", found=bound.type, fix=fix)
        return e.Arithmetic(t.STRING, "||", cast_to(left, t.STRING), cast_to(right, t.STRING), span=node.span)

    def _boolean(self, bound: e.Expr, node: s.Expr, where: str) -> e.Expr:
        if bound.type not in (t.BOOLEAN, t.NULL):
            raise error("TYPE_MISMATCH", node.span, what=where, expected="a condition", found=described(bound))
        return cast_to(bound, t.BOOLEAN)

    def _not(self, node: s.Not) -> e.Expr:
        return e.Not(t.BOOLEAN, self._boolean(self.bind(node.operand), node.operand, "NOT"), span=node.span)

    def _all_of(self, node: s.AllOf) -> e.Expr:
        operands = tuple(self._boolean(self.bind(o), o, "AND") for o in node.operands)
        return e.And(t.BOOLEAN, operands, span=node.span)

    def _any_of(self, node: s.AnyOf) -> e.Expr:
        operands = tuple(self._boolean(self.bind(o), o, "OR") for o in node.operands)
        return e.Or(t.BOOLEAN, operands, span=node.span)

    def _negated(self, bound: e.Expr, negated: bool) -> e.Expr:
        return e.Not(t.BOOLEAN, bound, span=bound.span) if negated else bound

    def _between(self, node: s.Between) -> e.Expr:
        operand = self.bind(node.operand)
        low = comparable(operand, self.bind(node.low), node.span)
        high = comparable(operand, self.bind(node.high), node.span)
        both = (
            e.Comparison(t.BOOLEAN, ">" if node.above else ">=", *low, span=node.span),
            e.Comparison(t.BOOLEAN, "<" if node.below else "<=", *high, span=node.span),
        )
        return self._negated(e.And(t.BOOLEAN, both, span=node.span), node.negated)

    def _in_list(self, node: s.InList) -> e.Expr:
        operand = self.bind(node.operand)
        items: list[e.Expr] = []
        common: DataType = t.NULL
        for written in node.items:
            _, item = comparable(operand, self.bind(written), written.span)
            joined = t.common_type(common, item.type)
            if joined is None:
                raise error("NOT_COMPARABLE", written.span, left=common, right=item.type)
            items.append(item)
            common = joined
        cast = tuple(cast_to(item, common) for item in items)
        subject = cast_to(coerce_literal(operand, common), common)
        return self._negated(e.InList(t.BOOLEAN, subject, cast, span=node.span), node.negated)

    def _like(self, node: s.Like) -> e.Expr:
        operand, pattern = self.bind(node.operand), self.bind(node.pattern)
        for side, bound in ((node.operand, operand), (node.pattern, pattern)):
            if bound.type not in (t.STRING, t.NULL):
                raise error("TYPE_MISMATCH", side.span, what="LIKE", expected="STRING", found=bound.type)
        like = e.Like(t.BOOLEAN, cast_to(operand, t.STRING), cast_to(pattern, t.STRING), span=node.span)
        return self._negated(like, node.negated)

    def _is_null(self, node: s.IsNull) -> e.Expr:
        return self._negated(e.IsNull(t.BOOLEAN, self.bind(node.operand), span=node.span), node.negated)

    def _case(self, node: s.Case) -> e.Expr:
        subject = self.bind(node.operand) if node.operand is not None else None
        conditions: list[e.Expr] = []
        for condition, _ in node.branches:
            bound = self.bind(condition)
            if subject is None:
                conditions.append(self._boolean(bound, condition, "WHEN"))
            else:
                pair = comparable(subject, bound, condition.span)
                conditions.append(e.Comparison(t.BOOLEAN, "=", *pair, span=condition.span))
        values = [self.bind(value) for _, value in node.branches]
        values.append(self.bind(node.otherwise) if node.otherwise is not None else e.Constant(t.NULL, None))
        common: DataType = t.NULL
        for value in values:
            joined = t.common_type(common, coerce_literal(value, common).type)
            if joined is None:
                what, found, fix = "CASE", value.type, "give all branches one type"
                raise error("TYPE_MISMATCH", value.span or node.span, what=what, expected=common, found=found, fix=fix)
            common = joined
        cast = [cast_to(coerce_literal(v, common), common) for v in values]
        branches = tuple(part for pair in zip(conditions, cast, strict=False) for part in pair)
        return e.CaseWhen(common, branches, cast[-1], span=node.span)

    def _cast(self, node: s.Cast) -> e.Expr:
        operand = self.bind(node.operand)
        if not _castable(operand.type, node.type):
            expected = "a type that converts to it"
            raise error("TYPE_MISMATCH", node.span, what=f"CAST to {node.type}", expected=expected, found=operand.type)
        return e.CastTo(node.type, operand, span=node.span)


def _castable(source: DataType, target: DataType) -> bool:
    """Scalars convert to and from STRING, numbers among themselves and with BOOLEAN; TIMESTAMP and DATE with each other
    and with STRING, BYTES only with STRING."""
    if source in (target, t.NULL) or t.common_type(source, target) == target:
        return True
    if not isinstance(source, t.Scalar) or not isinstance(target, t.Scalar):
        return False
    if t.STRING in (source, target) or {source, target} == {t.TIMESTAMP, t.DATE}:
        return True
    return not {source, target} & {t.TIMESTAMP, t.DATE, t.BYTES}
