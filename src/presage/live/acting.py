"""CREATE STATEMENT, INSERT … VALUES and ADVANCE in; a standing statement, events, a clock that is further out."""

from __future__ import annotations

import pyarrow as pa

from presage.analyze.declare_statement import retention_said
from presage.lang.acting_syntax import Advance, CreateStatement, InsertValues
from presage.live.standing import Standing
from presage.log import Log, attributes_schema, max_ahead
from presage.model.text import Source
from presage.workspace import Workspace

ACTS = CreateStatement | InsertValues | Advance


def act(statement: ACTS, workspace: Workspace, log: Log, standing: Standing, source: Source) -> None:
    match statement:
        case CreateStatement(query=query, name=name, replace=replaces, if_not_exists=absent):
            standing.deploy(query, name, replaces, retention_said(statement), absent, source)
        case InsertValues():
            stream, (attributes, rows) = workspace.inserted(statement)
            schema = attributes_schema(attributes)
            columns = [
                pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)
            ]
            log.append(stream, pa.table(columns, schema=schema))
        case Advance():
            streams, micros = workspace.advanced(statement)
            for stream in streams:
                log.append_watermark(stream.name, micros, max_ahead(stream))
