"""Metrics of an engine or a home, as Prometheus' text format (0.0.4) and as JSON.

Metrics are plain values in sections; `METRICS` defines their names in Prometheus. The page docs/guide/monitoring.md has
the same table, and a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from presage.model.redaction import masked

HISTOGRAM = "histogram"  # one of the kinds counter, gauge, histogram
# The label with the name of an object, by section.
LABELS = {"streams": "stream", "statements": "statement", "sources": "stream", "sinks": "sink"}


class Metric(NamedTuple):
    """A metric of a section. `by`: a label; the metric has one sample for each value of it. A text is a sample 1 with
    the text as value of the label."""

    section: str
    field: str
    name: str
    kind: str
    help: str
    by: str = ""


# By section: field, name without prefix, kind, help, and the label of `by`.
_TABLES = {
    "streams": """
events | stream_events_total | counter | Events accepted; late ones are not.
late | stream_late_total | counter | Events that came later than max_delay allows.
rejected | stream_rejected_total | counter | Records that were no events.
retained | stream_retained_events | gauge | Events that retention has left.
watermark | stream_watermark_seconds | gauge | Event time up to which all has come.
bytes | stream_bytes | gauge | Size of the event files.
files | stream_files | gauge | Event files.
chunk_files | stream_chunk_files | gauge | Event files by age. | age
chunk_events | stream_chunk_events | gauge | Events by the age of their files. | age
""",
    "statements": """
state | statement_state | gauge | 1 for the state that a statement has. | state
rows_in | statement_rows_in_total | counter | Events taken in.
rows_out | statement_rows_out_total | counter | Rows made.
rows_kept | statement_kept_rows | gauge | Rows that retention has left.
lag | statement_lag_events | gauge | Events that arrived and are not taken in yet.
watermark | statement_watermark_seconds | gauge | Event time that it has reached.
state_bytes | statement_state_bytes | gauge | Size of its state on disk.
partial_matches | statement_partial_matches | gauge | Matches that have begun.
recalls | statement_recalls | gauge | Events that wait for history. | kind
unknown_entities | statement_unknown_entities_total | counter | Values that should name an entity and name none.
particle_restarts | statement_particle_restarts_total | counter | Steps at which no particle could give the readings.
readings_ignored | statement_readings_ignored_total | counter | Readings that inference could not use.
batch_seconds_last | statement_batch_seconds | gauge | What its last batch took.
batch_seconds | statement_batch_seconds_total | counter | What all batches took.
failures | statement_failures_total | counter | Failures, and states lost.
""",
    "sources": """
state | source_state | gauge | 1 for the state that a source has. | state
rows | source_rows_total | counter | Events that a source has brought.
rejected | source_rejected_total | counter | Records of a source that were no events.
left | source_left | gauge | Parts, files for example, found and not brought.
""",
    "sinks": """
state | sink_state | gauge | 1 for the state that a sink has. | state
rows | sink_rows_total | counter | Rows that a sink has delivered.
skipped | sink_skipped_total | counter | Rows that its target refused for good.
left | sink_left_rows | gauge | Rows that are made and not delivered.
retries | sink_retries_total | counter | Deliveries that were tried again.
""",
    "job": """
batch_seconds | batch_seconds | histogram | What the batches of the live job took.
commit_seconds | commit_seconds | histogram | What publishing their records took.
position | position | gauge | The number of the last event in the log.
reached | reached_position | gauge | The last event that the live job has looked at.
records | journal_records_total | counter | Records of the journal.
failing | job_failing | gauge | 1 while batches fail and are tried again.
results_bytes | results_bytes | gauge | Size of the files with the rows of statements.
results_files | results_files | gauge | Files with the rows of statements.
""",
    "process": """
resident_bytes | process_resident_bytes | gauge | Memory of the engine's process.
cpu_seconds | process_cpu_seconds_total | counter | Processor time of the process.
started | process_start_time_seconds | gauge | When the engine was opened.
""",
}
METRICS = tuple(
    Metric(section, field, f"presage_{name}", *more)
    for section, text in _TABLES.items()
    for field, name, *more in (line.split(" | ") for line in text.strip().splitlines())
)


@dataclass(frozen=True)
class Metrics:
    """Metrics at one moment: `values[section][name][field]`, or `values[section][field]` where there are no names."""

    values: Mapping[str, Any]

    def json(self) -> str:
        return masked(json.dumps(self.values, ensure_ascii=False))

    def prometheus(self) -> str:
        """The text for a scrape, or for node_exporter's textfile collector."""
        lines: list[str] = []
        for metric in METRICS:
            samples = list(self._samples(metric))
            if samples:
                lines += [f"# HELP {metric.name} {_help(metric.help)}", f"# TYPE {metric.name} {metric.kind}", *samples]
        return masked("".join(f"{line}\n" for line in lines))

    def _samples(self, metric: Metric) -> Iterator[str]:
        section = self.values.get(metric.section, {})
        if metric.section not in LABELS:
            yield from _spelled(metric, {}, section.get(metric.field))
            return
        for name, fields in section.items():
            labels = {LABELS[metric.section]: name}
            if metric.section == "sources":
                labels["source"] = fields["source"]
            elif metric.section == "sinks":
                labels["kind"] = fields["kind"]
            yield from _spelled(metric, labels, fields.get(metric.field))


def _spelled(metric: Metric, labels: dict[str, str], value: Any) -> Iterator[str]:
    if value is None:
        return
    if metric.kind == HISTOGRAM:
        buckets = {bound: count for bound, count in value.items() if bound != "sum"}
        for bound, count in buckets.items():
            yield _sample(f"{metric.name}_bucket", {**labels, "le": bound}, count)
        yield _sample(f"{metric.name}_sum", labels, value["sum"])
        yield _sample(f"{metric.name}_count", labels, buckets["+Inf"])
    elif isinstance(value, str):
        yield _sample(metric.name, {**labels, metric.by: value}, 1)
    elif metric.by:
        for key, each in value.items():
            yield _sample(metric.name, {**labels, metric.by: key}, each)
    else:
        yield _sample(metric.name, labels, value)


def _sample(name: str, labels: Mapping[str, str], value: float) -> str:
    inside = ",".join(f'{label}="{_label(text)}"' for label, text in labels.items())
    number = str(int(value)) if isinstance(value, bool | int) else repr(float(value))
    return f"{name}{{{inside}}} {number}" if inside else f"{name} {number}"


def _label(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _help(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")
