"""JSON files with a checksum, which detects damage: `{"n": 7}` becomes `{"n": 7, "crc": 123}`.

Files of earlier versions have no checksum and are read without it.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable
from typing import Any

CRC = "crc"
_SEAL = re.compile(rb', "crc": (\d+)\}\Z')


def seal(content: dict[str, Any], default: Callable[[Any], Any] | None = None) -> bytes:
    """A non-empty object as JSON with its checksum."""
    data = json.dumps(content, default=default).encode()
    return data[:-1] + b', "crc": %d}' % zlib.crc32(data)


def unseal(data: bytes) -> dict[str, Any]:
    """The object, with or without a checksum; ValueError if it is damaged."""
    match = _SEAL.search(data[-32:])
    if match is not None:
        data = data[: len(data) - len(match[0])] + b"}"
        if zlib.crc32(data) != int(match[1]):
            raise ValueError("its checksum is wrong")
    content = json.loads(data)
    if not isinstance(content, dict) or CRC in content:
        raise ValueError("it holds no object" if not isinstance(content, dict) else "its checksum is out of place")
    return content
