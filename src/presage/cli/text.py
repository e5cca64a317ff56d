"""The text of a file of statements; a file that cannot be read is an error with a fix."""

from __future__ import annotations

import sys
from pathlib import Path

from presage.errors import error

STDIN = "-"


def read_text(file: str) -> str:
    """The text of a file, or of stdin for `-`."""
    if file == STDIN:
        stream = getattr(sys.stdin, "buffer", None)
        return _decoded(stream.read(), "stdin") if stream is not None else sys.stdin.read()
    try:
        data = Path(file).read_bytes()
    except FileNotFoundError:
        raise error("FILE_NOT_FOUND", path=file, fix=_neighbour(file)) from None
    except IsADirectoryError:
        raise error("FILE_UNREADABLE", path=file, why="it is a folder", fix="name a file with statements") from None
    except (OSError, ValueError) as failure:
        why = getattr(failure, "strerror", None) or str(failure)
        raise error("FILE_UNREADABLE", path=file, why=why, fix="check the name and its permissions") from None
    return _decoded(data, file)


def name_of(file: str) -> str:
    """The name of the text in errors."""
    return "stdin" if file == STDIN else file


def _decoded(data: bytes, name: str) -> str:
    try:
        # Drop the byte order mark of editors on Windows.
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as failure:
        line = data.count(b"\n", 0, failure.start) + 1
        why = f"line {line} is not UTF-8 text"
        raise error("FILE_UNREADABLE", path=name, why=why, fix="save the file as UTF-8") from None


def _neighbour(file: str) -> str:
    """The file beside it that the user may have meant."""
    path = Path(file)
    if path.suffix != ".epl" and path.with_name(path.name + ".epl").is_file():
        return f"did you mean '{file}.epl'?"
    if not path.parent.is_dir():
        return f"there is no folder '{path.parent}'"
    return "check the name and the folder"
