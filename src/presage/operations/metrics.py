"""Metrics of an engine or of a home, as Prometheus' text format (0.0.4) and as JSON.

The figures are plain values in sections; `METRICS` says under which name each of them goes to Prometheus. The page
docs/guide/operations.md has the same table, and a test compares the two.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from presage.model.redaction import masked

COUNTER, GAUGE, HISTOGRAM = "counter", "gauge", "histogram"
# The labels of a section's figures: the last of them is the name that the section has them under.
LABELS = {
    "streams": "stream",
    "statements": "statement",
    "sources": "stream",
    "sinks": "sink",
    "job": "",
    "process": "",
}


class Metric(NamedTuple):
    """A figure of a section. `by`: the figure is one for each value of this label; without a number it is 1 for the
    value that it has."""

    section: str
    field: str
    name: str
    kind: str
    help: str
    by: str = ""


METRICS = (
    Metric("streams", "events", "presage_stream_events_total", COUNTER, "Events accepted; late ones are not."),
    Metric("streams", "late", "presage_stream_late_total", COUNTER, "Events that came later than max_delay allows."),
    Metric("streams", "rejected", "presage_stream_rejected_total", COUNTER, "Records that were no events."),
    Metric("streams", "retained", "presage_stream_retained_events", GAUGE, "Events that retention has left."),
    Metric("streams", "watermark", "presage_stream_watermark_seconds", GAUGE, "Event time up to which all has come."),
    Metric("streams", "bytes", "presage_stream_bytes", GAUGE, "Size of the event files."),
    Metric("streams", "files", "presage_stream_files", GAUGE, "Event files."),
    Metric("streams", "chunk_files", "presage_stream_chunk_files", GAUGE, "Event files by age.", "age"),
    Metric("streams", "chunk_events", "presage_stream_chunk_events", GAUGE, "Events by the age of their files.", "age"),
    Metric("statements", "state", "presage_statement_state", GAUGE, "1 for the state that a statement has.", "state"),
    Metric("statements", "rows_in", "presage_statement_rows_in_total", COUNTER, "Events taken in."),
    Metric("statements", "rows_out", "presage_statement_rows_out_total", COUNTER, "Rows made."),
    Metric("statements", "rows_kept", "presage_statement_kept_rows", GAUGE, "Rows that retention has left."),
    Metric("statements", "lag", "presage_statement_lag_events", GAUGE, "Events that arrived and are not taken in yet."),
    Metric("statements", "watermark", "presage_statement_watermark_seconds", GAUGE, "Event time that it has reached."),
    Metric("statements", "state_bytes", "presage_statement_state_bytes", GAUGE, "Size of its state on disk."),
    Metric("statements", "partial_matches", "presage_statement_partial_matches", GAUGE, "Matches that have begun."),
    Metric("statements", "recalls", "presage_statement_recalls", GAUGE, "Events that wait for history.", "kind"),
    Metric(
        "statements",
        "unknown_entities",
        "presage_statement_unknown_entities_total",
        COUNTER,
        "Values that should name an entity and name none.",
    ),
    Metric(
        "statements",
        "particle_restarts",
        "presage_statement_particle_restarts_total",
        COUNTER,
        "Steps at which no particle could give the readings.",
    ),
    Metric(
        "statements",
        "readings_ignored",
        "presage_statement_readings_ignored_total",
        COUNTER,
        "Readings that inference could not use.",
    ),
    Metric("statements", "batch_seconds_last", "presage_statement_batch_seconds", GAUGE, "What its last batch took."),
    Metric("statements", "batch_seconds", "presage_statement_batch_seconds_total", COUNTER, "What all batches took."),
    Metric("statements", "failures", "presage_statement_failures_total", COUNTER, "Failures, and states lost."),
    Metric("sources", "state", "presage_source_state", GAUGE, "1 for the state that a source has.", "state"),
    Metric("sources", "rows", "presage_source_rows_total", COUNTER, "Events that a source has brought."),
    Metric("sources", "rejected", "presage_source_rejected_total", COUNTER, "Records of a source that were no events."),
    Metric("sources", "left", "presage_source_left", GAUGE, "Parts, files for example, found and not brought."),
    Metric("sinks", "state", "presage_sink_state", GAUGE, "1 for the state that a sink has.", "state"),
    Metric("sinks", "rows", "presage_sink_rows_total", COUNTER, "Rows that a sink has delivered."),
    Metric("sinks", "skipped", "presage_sink_skipped_total", COUNTER, "Rows that its target refused for good."),
    Metric("sinks", "left", "presage_sink_left_rows", GAUGE, "Rows that are made and not delivered."),
    Metric("sinks", "retries", "presage_sink_retries_total", COUNTER, "Deliveries that were tried again."),
    Metric("job", "batch_seconds", "presage_batch_seconds", HISTOGRAM, "What the batches of the live job took."),
    Metric("job", "commit_seconds", "presage_commit_seconds", HISTOGRAM, "What publishing their records took."),
    Metric("job", "position", "presage_position", GAUGE, "The number of the last event in the log."),
    Metric("job", "reached", "presage_reached_position", GAUGE, "The last event that the live job has looked at."),
    Metric("job", "records", "presage_journal_records_total", COUNTER, "Records of the journal."),
    Metric("job", "failing", "presage_job_failing", GAUGE, "1 while batches fail and are tried again."),
    Metric("job", "results_bytes", "presage_results_bytes", GAUGE, "Size of the files with the rows of statements."),
    Metric("job", "results_files", "presage_results_files", GAUGE, "Files with the rows of statements."),
    Metric("process", "resident_bytes", "presage_process_resident_bytes", GAUGE, "Memory of the engine's process."),
    Metric("process", "cpu_seconds", "presage_process_cpu_seconds_total", COUNTER, "Processor time of the process."),
    Metric("process", "started", "presage_process_start_time_seconds", GAUGE, "When the engine was opened."),
)


@dataclass(frozen=True)
class Metrics:
    """Figures at one moment: `values[section][name][field]`, or `values[section][field]` where there are no names."""

    values: Mapping[str, Any]

    def json(self) -> str:
        """One JSON object with the sections."""
        return masked(json.dumps(self.values, ensure_ascii=False))

    def prometheus(self) -> str:
        """Text for a scrape, or for a file of node_exporter's textfile collector."""
        lines: list[str] = []
        for metric in METRICS:
            samples = list(self._samples(metric))
            if samples:
                lines += [f"# HELP {metric.name} {_help(metric.help)}", f"# TYPE {metric.name} {metric.kind}", *samples]
        return masked("".join(f"{line}\n" for line in lines))

    def _samples(self, metric: Metric) -> Iterator[str]:
        found = self.values.get(metric.section, {})
        if not LABELS[metric.section]:
            yield from _spelled(metric, {}, found.get(metric.field))
            return
        for name, fields in found.items():
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
