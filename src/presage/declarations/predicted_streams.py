"""CREATE STREAM … PREDICTED: the event type whose rows are functions of time (a value, a rate, a threshold).

Here and not with the prediction operator: a declaration is checked before any operator is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from presage.declarations.special_streams import check_special, checked_attributes
from presage.errors import did_you_mean, error
from presage.lang import syntax as s
from presage.model.catalog import Attribute, Catalog, EventType, Predicted
from presage.model.text import Span
from presage.model.time import parse_duration
from presage.model.types import DOUBLE, INT, LONG

# Options of a predicted stream; `threshold.x` is the threshold of attribute x alone.
PREDICTED_OPTIONS = ("threshold", "period", "errors", "sigma", "buffer", "policy")
ERRORS = ("uniform", "normal")
POLICIES = ("min-c", "if-full", "oldest", "random")
MOST_TUPLES = 2**31 - 1
# Columns of every row of a query over predicted streams.
ROW_COLUMNS = ("valid_from", "valid_to", "probability", "boundary", "change")


def is_predicted_option(name: str) -> bool:
    return name in PREDICTED_OPTIONS or name.startswith("threshold.")


def bind_predicted(node: s.CreateType, made: EventType, catalog: Catalog) -> EventType:
    """The declared stream with the columns of its predicted attributes."""
    assert node.predicted is not None
    span, names = node.predicted.span, node.predicted.attributes
    belongs = "a function belongs to a sensor"
    check_special(node, made, catalog, "PREDICTED", span, rows="functions", belongs=belongs)
    if node.probabilistic is not None or node.inference is not None:
        raise error("UNSUPPORTED", span, what="PREDICTED", where="on a probabilistic stream", fix="declare two streams")
    expected = "what a sensor measures"
    for attribute in checked_attributes(made, names, "PREDICTED", span, kind="predicted", expected=expected):
        if attribute.type not in (DOUBLE, INT, LONG):
            what, fix = f"the predicted attribute '{attribute.name}'", "declare it as DOUBLE"
            raise error("TYPE_MISMATCH", span, what=what, expected="a number", found=attribute.type, fix=fix)
    predicted = _from_options(node, names)
    return replace(made, attributes=_columns(made, predicted, span), predicted=predicted)


def _columns(made: EventType, predicted: Predicted, span: Span) -> tuple[Attribute, ...]:
    """The declared attributes, with the columns of its functions in place of each predicted one."""
    taken = next((a.name for a in made.attributes if a.name.lower() in ROW_COLUMNS), None)
    if taken is not None:
        where = f"the rows of queries over stream '{made.name}'"
        fix = "give the attribute another name: the rows have a column of that name themselves"
        raise error("DUPLICATE_NAME", span, name=taken, where=where, fix=fix)
    names = {a.name.lower() for a in made.attributes if a.name not in predicted.attributes}
    for name in (column for attribute in predicted.attributes for column in predicted.columns_of(attribute)):
        if name.lower() in names:
            fix = "leave it out of the declaration: the rows of a predicted stream have that column in any case"
            raise error("DUPLICATE_NAME", span, name=name, where=f"stream '{made.name}'", fix=fix)
        names.add(name.lower())
    columns: list[Attribute] = []
    for attribute in made.attributes:
        functions = predicted.columns_of(attribute.name) if attribute.name in predicted.attributes else ()
        columns += [Attribute(column, DOUBLE) for column in functions] or [attribute]
    return tuple(columns)


def _from_options(node: s.CreateType, names: tuple[str, ...]) -> Predicted:
    given = {option.name.lower(): option for option in node.options}
    whole = _number(given, "threshold", 0.0)
    thresholds = tuple(_number(given, f"threshold.{name.lower()}", whole) for name in names)
    for key, option in given.items():
        attribute = key.partition(".")[2]
        if key.startswith("threshold.") and attribute not in [name.lower() for name in names]:
            fix = did_you_mean(attribute, names)
            raise error("UNKNOWN_OPTION", option.span, name=option.name, owner=f"stream '{node.name}'", fix=fix)
    errors, policy = _word(given, "errors", ERRORS), _word(given, "policy", POLICIES)
    limit: int | None = None
    if "buffer" in given:
        found = given["buffer"].value
        if not isinstance(found, int) or isinstance(found, bool) or not 0 < found <= MOST_TUPLES:
            raise _bad(given["buffer"], "a number of tuples from 1 on", "write buffer = 1000")
        limit = found
    elif "policy" in given:
        what, expected, fix = "policy", "a limit that it is for", "add buffer = n, or leave policy out"
        raise error("BAD_VALUE", given["policy"].span, what=what, found="without a buffer", expected=expected, fix=fix)
    sigma = _number(given, "sigma", 0.5)
    if sigma == 0:
        raise _bad(given["sigma"], "a part of the threshold, above 0", "write sigma = 0.5")
    return Predicted(names, thresholds, _period(given), errors, sigma, limit, policy)


def _number(given: Mapping[str, s.Option], name: str, otherwise: float) -> float:
    option = given.get(name)
    if option is None:
        return otherwise
    value = option.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0 or not math.isfinite(value):
        raise _bad(option, "a number that is not negative", f"write {option.name} = 0.5")
    return float(value)


def _period(given: Mapping[str, s.Option]) -> int | None:
    option = given.get("period")
    if option is None:
        return None
    period = parse_duration(str(option.value))
    if period is None:
        raise error("BAD_DURATION", option.span, found=option.value)
    if period == 0:
        raise _bad(option, "longer than nothing", "write period = '30 sec'")
    return period


def _word(given: Mapping[str, s.Option], name: str, words: tuple[str, ...]) -> str:
    option = given.get(name)
    if option is None:
        return words[0]
    if option.value not in words:
        raise _bad(option, f"one of {', '.join(words)}", did_you_mean(str(option.value), words))
    return str(option.value)


def _bad(option: s.Option, expected: str, fix: str) -> Exception:
    return error("BAD_VALUE", option.span, what=option.name, found=f"'{option.value}'", expected=expected, fix=fix)
