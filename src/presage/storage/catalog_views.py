"""Rows of SHOW and DESCRIBE: the catalog, and statistics of the archive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from presage.model.catalog import EVENT, Catalog, EventType
from presage.model.time import format_duration, format_timestamp
from presage.storage.archive import Archive

Rows = tuple[tuple[str, ...], list[tuple[Any, ...]]]
SHOWN_ROWS = 20
STREAM_COLUMNS = (
    *("name", "kind", "attributes", "event_time", "max_delay", "source", "source_state", "rows", "late", "rejected"),
)


def show(what: str, catalog: Catalog, archive: Archive, sources: Mapping[str, str] | None = None) -> Rows:
    """SHOW STREAMS | RELATIONS | STATEMENTS | MODELS | KNOWLEDGE. `sources`: states of running sources, by stream."""
    if what == "streams":
        types = (t for t in catalog.types.values() if t.name != EVENT)
        return STREAM_COLUMNS, [_stream_row(t, archive, sources or {}) for t in types]
    if what == "relations":
        rows = [
            (r.name, ", ".join(f"{a.name} {a.type}" for a in r.attributes), r.path or "VALUES")
            for r in catalog.relations.values()
        ]
        return ("name", "attributes", "source"), rows
    if what == "knowledge":
        return ("name", "files", "reasoning", "read"), [
            (k.name, ", ".join(k.paths), k.reasoning or "", format_timestamp(k.since))
            for k in catalog.knowledge.values()
        ]
    if what == "models":
        return ("name", "source", "streams"), [
            (m.name, m.path, ", ".join(catalog.inferred(m.name))) for m in catalog.models.values()
        ]
    return ("name",), []  # statements: there are none without an engine


def not_seen(archive: Archive, streams: Iterable[str]) -> tuple[str, ...]:
    """Remarks on the late and rejected rows of these streams, which no query sees."""
    remarks = []
    for name in dict.fromkeys(streams):
        info = archive.describe(name) if archive.holds(name) else None
        if info is not None and (info.rejected or info.late):
            counts = [f"{n:,} {what}" for n, what in ((info.rejected, "rejected"), (info.late, "late")) if n]
            remarks.append(f"{name}: {', '.join(counts)} when they were loaded, so not in these rows")
    return tuple(remarks)


def _stream_row(event_type: EventType, archive: Archive, sources: Mapping[str, str]) -> tuple[Any, ...]:
    attributes = ", ".join(f"{a.name} {a.type}" for a in event_type.attributes)
    source = {"schema": "", "derived": "INSERT INTO"}.get(event_type.kind, event_type.options.get("source", "memory"))
    if event_type.inference is not None:
        source = f"inference over {event_type.inference.over}"
    figures: tuple[Any, ...] = (None, None, None)
    if event_type.kind == "stream":
        info = archive.describe(event_type.name)
        figures = (info.rows, info.late, info.rejected)
    delay = format_duration(event_type.max_delay) if event_type.kind == "stream" else ""
    declared = (event_type.name, event_type.kind, attributes, event_type.event_time or "", delay, source)
    return (*declared, sources.get(event_type.name, ""), *figures)


def describe(name: str, catalog: Catalog, archive: Archive, relations: Mapping[str, pa.Table]) -> Rows:
    """DESCRIBE name: properties and values, attributes first."""
    columns = ("property", "value")
    if name in catalog.relations:
        relation, table = catalog.relations[name], relations[name]
        rows = [("kind", "relation")]
        rows += [(f"attribute {a.name}", str(a.type)) for a in relation.attributes]
        rows += [("source", relation.path or "VALUES"), ("rows", str(table.num_rows))]
        rows += [(f"row {i + 1}", str(tuple(r.values()))) for i, r in enumerate(table.slice(0, SHOWN_ROWS).to_pylist())]
        return columns, rows
    if name in catalog.models:
        model = catalog.models[name]
        rows = [("kind", "model"), ("source", model.path), ("characters", str(len(model.text)))]
        return columns, [*rows, ("streams", ", ".join(catalog.inferred(name)))]
    if name in catalog.knowledge:
        base = catalog.knowledge[name]
        rows = [("kind", "knowledge base"), ("reasoning", base.reasoning or ""), ("read", format_timestamp(base.since))]
        rows += [(f"file {i + 1}", path) for i, path in enumerate(base.paths)]
        return columns, [*rows, ("streams", ", ".join(t.name for t in catalog.types.values() if t.context is not None))]
    event_type = catalog.types[name]
    rows = [("kind", event_type.kind)]
    if event_type.parents:
        rows.append(("inherits", ", ".join(event_type.parents)))
    rows += [(f"attribute {a.name}", str(a.type)) for a in event_type.attributes]
    rows.append(("event time", event_type.event_time or ""))
    rows += [("key", ", ".join(event_type.key))] if event_type.key else []
    if event_type.context is not None:
        rows.append(("context", event_type.context.path))
        rows += [
            (f"meaning of {n}", f"<{m.term}>")
            for n, m in event_type.context.meanings.items()
            if event_type.attribute(n) is not None
        ]
    rows += _uncertain_rows(event_type)
    rows += [(f"option {n}", v) for n, v in event_type.options.items()]
    rows += [(f"statement {i + 1}", p.text) for i, p in enumerate(event_type.producers)]
    if event_type.kind == "stream":
        rows += _archive_rows(event_type, archive)
    else:
        rows.append(("streams", ", ".join(t.name for t in catalog.streams_of(name))))
    return columns, rows


def _uncertain_rows(event_type: EventType) -> list[tuple[str, str]]:
    rows = []
    if event_type.probabilistic is not None:
        steps = "Markov" if event_type.probabilistic.markov else "independent steps"
        rows.append(("probabilistic", f"{', '.join(event_type.probabilistic.attributes)}; {steps}"))
    if (predicted := event_type.predicted) is not None:
        pairs = zip(predicted.attributes, predicted.thresholds, strict=True)
        bounds = [f"{name} ± {threshold:g}" for name, threshold in pairs]
        until = f"; for at most {format_duration(predicted.period)}" if predicted.period is not None else ""
        rows.append(("predicted", f"{', '.join(bounds)}{until}"))
    if (inference := event_type.inference) is not None:
        count = f" {inference.particles}" if inference.particles is not None else ""
        rows.append(("inference", f"over {inference.over}, model {inference.model}, {inference.method.upper()}{count}"))
    return rows


def _archive_rows(event_type: EventType, archive: Archive) -> list[tuple[str, str]]:
    info = archive.describe(event_type.name)
    ignored = ", ".join(f"{n} ({c})" for n, c in sorted(info.ignored.items()))
    rows = [("max delay", format_duration(event_type.max_delay))]
    counts = (("rows", info.rows), ("retained", info.retained), ("late", info.late), ("rejected", info.rejected))
    rows += [(name, str(count)) for name, count in counts]
    rows += [("ignored attributes", ignored)] if ignored else []
    times = (("first event", info.first_time), ("last event", info.last_time), ("watermark", info.watermark))
    rows += [(label, format_timestamp(time)) for label, time in times if time is not None]
    rows += [("position", str(info.last_seq)), ("files", str(info.files)), ("bytes", str(info.bytes))]
    return rows + [(f"{age} chunks", f"{files} files, {count} rows") for age, (files, count) in info.chunks.items()]
