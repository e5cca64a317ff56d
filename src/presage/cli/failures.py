"""Errors of commands: a message on stderr and an exit code. A user's mistake shows no traceback."""

from __future__ import annotations

import json
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from presage.errors import PresageError, PresageWarning, QueryWarning, error
from presage.execution.spark.failures import explain_failure, first_line, is_of_spark

FAILED, INTERRUPTED = 1, 130
ATTENTION = 3  # the command succeeded and found a problem in the home
_COLOURS = {"error[": "1;31", "warning[": "1;33", "  -->": "36", "  fix:": "32"}


@contextmanager
def reported(as_json: bool = False, debug: bool = False) -> Iterator[None]:
    """Run a command's work: an error is reported and becomes the exit code."""
    try:
        with _told(as_json):
            yield
    except PresageError as problem:
        report(problem, as_json)
        raise SystemExit(FAILED) from None
    except BrokenPipeError:
        # The reader closed the pipe, as `presage … | head` does.
        discard_output()
        raise SystemExit(0) from None
    except KeyboardInterrupt:
        discard_output()
        raise SystemExit(INTERRUPTED) from None
    except Exception as unexpected:
        if debug:
            import traceback  # slow to load, and hardly ever needed

            traceback.print_exc()
        report(_explained(unexpected), as_json)
        raise SystemExit(FAILED) from None


def report(problem: PresageError, as_json: bool = False) -> None:
    """All errors of a run on stderr: rendered, or one JSON object per line."""
    for number, each in enumerate((problem, *problem.others)):
        if as_json:
            _write(sys.stderr, json.dumps(each.as_dict(), ensure_ascii=False) + "\n")
        else:
            blank = "\n" if number else ""
            _write(sys.stderr, blank + _coloured(each.render(), sys.stderr) + "\n")


def warn(warnings: Iterable[QueryWarning], as_json: bool = False) -> None:
    """Warnings on stderr, as errors are reported."""
    for each in warnings:
        text = json.dumps(each.as_dict(), ensure_ascii=False) if as_json else _coloured(each.render(), sys.stderr)
        _write(sys.stderr, text + "\n")


@contextmanager
def _told(as_json: bool) -> Iterator[None]:
    """Warnings of Presage that Python carries look like the others, without a line of its source."""
    with warnings.catch_warnings():
        others: Any = warnings.showwarning

        def show(message: Warning | str, *place: Any) -> None:
            if isinstance(message, PresageWarning):
                warn([message.told], as_json)
            else:
                others(message, *place)

        warnings.showwarning = cast("Any", show)
        yield


def discard_output() -> None:
    """Redirect further output to the null device: the reader is gone."""
    for stream in (sys.stdout, sys.stderr):
        try:
            number = stream.fileno()
        except (OSError, ValueError, AttributeError):
            continue
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, number)
        os.close(null)


def end_output(code: int) -> int:
    """Flush the output; the exit code tells if that fails."""
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None and not stream.closed:
                stream.flush()
    except BrokenPipeError:
        discard_output()
    except OSError as failure:
        discard_output()
        return code or (FAILED if failure.errno else code)
    return code


def _explained(unexpected: Exception) -> PresageError:
    """A PresageError for any other exception."""
    text = str(unexpected).strip()
    if isinstance(unexpected, OSError) and unexpected.filename:
        why = unexpected.strerror or text
        return error("FILE_UNREADABLE", path=unexpected.filename, why=why, fix="check the disk and the permissions")
    if is_of_spark(unexpected):
        return explain_failure(unexpected)
    return error("INTERNAL", what=f"{type(unexpected).__name__}: {first_line(text)}")


def _coloured(text: str, stream: TextIO) -> str:
    """The rendering with colours, on a terminal that wants them."""
    if not (stream.isatty() and os.environ.get("TERM") != "dumb" and not os.environ.get("NO_COLOR")):
        return text
    lines = []
    for line in text.split("\n"):
        colour = next((c for start, c in _COLOURS.items() if line.startswith(start)), None)
        if colour is None and re.match(r" +\| \s*\^+$", line):
            colour = "1;31"
        lines.append(f"\x1b[{colour}m{line}\x1b[0m" if colour else line)
    return "\n".join(lines)


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        stream.write(text.encode("ascii", "backslashreplace").decode())
