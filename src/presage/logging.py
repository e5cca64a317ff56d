"""Log records with codes and structured fields, and their output as JSON lines or text.

All records go to the logger "presage". The message is for people; `code` and the fields are for programs, and stay the
same between versions. As a library Presage configures nothing: by default Python shows warnings. The variable
PRESAGE_LOG (`json` or `text`), `presage run --log` or `log_to` write all records from level `info` on.
"""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import UTC, datetime
from typing import Any, TextIO

from presage.errors import error
from presage.model.redaction import masked

DEBUG, INFO, WARNING, ERROR = logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR
VARIABLE, LEVEL_VARIABLE = "PRESAGE_LOG", "PRESAGE_LOG_LEVEL"
FORMATS = ("json", "text")
LEVELS = ("debug", "info", "warning", "error")
# All codes. docs/guide/monitoring.md has the same list; a test compares them.
CODES = (
    *("ENGINE_OPENED", "ENGINE_CLOSED", "STANDBY", "OVERTAKEN", "FILES_MISSING", "SPARK_STARTING"),
    *("STATEMENT_DEPLOYED", "STATEMENT_STOPPED", "STATEMENT_FAILED", "STATEMENT_FINISHED", "STATEMENT_REBUILT"),
    *("STATEMENT_RESUMED", "STATEMENTS_APART", "STOPPED_EARLY", "QUERY_WARNING"),
    *("BATCH", "BATCH_FAILED", "BATCH_ON_DRIVER", "SUBSCRIBER_FAILED"),
    *("SOURCE_STATE", "SOURCE_NOTE", "SOURCE_FAILED", "SPOOL_FAILED", "SINK_STATE", "SINK_SKIPPED", "SINK_FAILED"),
    *("REQUEST_FAILED", "MAINTENANCE", "UPKEEP_FAILED", "TABLES_BEHIND"),
)

_LOGGER = logging.getLogger("presage")
_FIELDS = "presage_fields"


def enabled(level: int) -> bool:
    """Whether records of that level are written: for records that are expensive to make."""
    return _LOGGER.isEnabledFor(level)


def tell(level: int, code: str, text: str, *, failure: BaseException | None = None, **fields: Any) -> None:
    """Log a record. `text` is a format string over the fields; `failure` adds its traceback."""
    if _LOGGER.isEnabledFor(level):
        extra = {"code": code, _FIELDS: fields}
        # As an argument: a percent sign in a message is no format.
        _LOGGER.log(level, "%s", masked(text.format(**fields)), extra=extra, exc_info=failure, stacklevel=2)


class JsonLines(logging.Formatter):
    """A record as one JSON object: time, level, code, message, then its fields."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        content: dict[str, Any] = {
            "time": when.replace("+00:00", "Z"),
            "level": record.levelname.lower(),
            "code": getattr(record, "code", None),
            "message": record.getMessage(),
            **{name: _plain(value) for name, value in getattr(record, _FIELDS, {}).items()},
        }
        if record.exc_info and record.exc_info[0] is not None:
            content["traceback"] = self.formatException(record.exc_info)
        return masked(json.dumps(content, ensure_ascii=False, default=str))


class TextLines(logging.Formatter):
    """A record for people: time, level, message."""

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))


def log_to(format: str = "json", level: str = "info", stream: TextIO | None = None) -> logging.Handler:
    """Write the records of Presage, by default to stderr. A second call replaces the first."""
    for what, value, allowed in (("the format of logs", format, FORMATS), ("the level of logs", level, LEVELS)):
        if value not in allowed:
            raise error("BAD_VALUE", what=what, found=f"'{value}'", expected=f"one of {', '.join(allowed)}")
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if format == "json" else TextLines("%(asctime)s %(levelname)s %(message)s"))
    stop()
    _LOGGER.addHandler(handler)
    _LOGGER.setLevel(level.upper())
    _LOGGER.propagate = False  # else the program's root logger would write each record again
    _ours.append(handler)
    return handler


def stop() -> None:
    """End the output of `log_to`."""
    while _ours:
        _LOGGER.removeHandler(_ours.pop())
        _LOGGER.propagate = True
        _LOGGER.setLevel(logging.NOTSET)


def log_as_environment_says() -> bool:
    """Apply PRESAGE_LOG and PRESAGE_LOG_LEVEL, unless the program has called `log_to`; whether logs are written."""
    wanted = os.environ.get(VARIABLE, "").lower()
    if wanted and not _ours:
        log_to(wanted, os.environ.get(LEVEL_VARIABLE, "info").lower())
    return bool(_ours)


_ours: list[logging.Handler] = []


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, bool | int | float) else str(value)
