"""JSON files of a home with a checksum at their end: a flipped bit is noticed before anybody acts on what it says.

`{"n": 7}` becomes `{"n": 7, "crc": 123}`. What earlier versions wrote has no checksum and is read as it is.
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
    """The bytes of an object that is not empty, with their checksum."""
    data = json.dumps(content, default=default).encode()
    return data[:-1] + b', "crc": %d}' % zlib.crc32(data)


def unseal(data: bytes) -> dict[str, Any]:
    """The object that was sealed, or written without a seal; ValueError if it is damaged."""
    found = _SEAL.search(data[-32:])
    if found is not None:
        data = data[: len(data) - len(found[0])] + b"}"
        if zlib.crc32(data) != int(found[1]):
            raise ValueError("its checksum is wrong")
    content = json.loads(data)
    if not isinstance(content, dict) or CRC in content:
        raise ValueError("it holds no object" if not isinstance(content, dict) else "its checksum is out of place")
    return content
