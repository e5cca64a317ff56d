"""Events of a stream around a past event, as JSON, by Spark."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from presage.execution.spark.batch import column
from presage.operators.recall.answers import ARRIVED, WHEN
from presage.operators.recall.nodes import Select, Source
from presage.operators.recall.questions import EVENT
from presage.operators.recall.similar_rows import JSON
from presage.operators.recall.spark_selects import Asking, joined
from presage.plan.nodes import Named

_OPTIONS = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss[.SSSSSS]XXX", "timeZone": "UTC"}


def near_rows(number: int, width: int, attributes: Sequence[Named], asking: Asking) -> DataFrame:
    """EVENT, WHEN, ARRIVED and JSON of the events in the last `width` microseconds of each span."""
    select = Select((Source("", number, window=width),), None, (), False, (), (), None, ())
    named = [column(a.expr, asking.context).alias(a.name) for a in attributes]
    told = F.to_json(F.struct(*named), _OPTIONS)
    return joined(select, asking).select(EVENT, WHEN, ARRIVED, told.alias(JSON))
