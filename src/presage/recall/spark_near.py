"""Spans of time in, the events of a stream in each of them out, as JSON: what happened around a past event."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from presage.plan.nodes import Named
from presage.recall.answers import ARRIVED, WHEN
from presage.recall.asking import EVENT
from presage.recall.nodes import Select, Source
from presage.recall.similar_rows import JSON
from presage.recall.spark_selects import Asking, joined
from presage.spark.batch import column

_OPTIONS = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX", "timeZone": "UTC"}


def near_rows(number: int, width: int, attributes: Sequence[Named], asking: Asking) -> DataFrame:
    """EVENT, WHEN, ARRIVED and JSON of the events in the last `width` microseconds of each span."""
    select = Select((Source("", number, window=width),), None, (), False, (), (), None, ())
    named = [column(a.expr, asking.context).alias(a.name) for a in attributes]
    told = F.to_json(F.struct(*named), _OPTIONS)
    return joined(select, asking).select(EVENT, WHEN, ARRIVED, told.alias(JSON))
