"""Models in, copies of their texts in the home out, and back: the home opens again when the files have moved."""

from __future__ import annotations

import hashlib
import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from presage.errors import error
from presage.model.catalog import Catalog, Model

COPY = "model"  # in the catalog's entry: the path of the copy below the home
DIGEST = "digest"  # of the copy; entries of earlier versions have none


def keep_model(home: Path, model: Model | None) -> dict[str, str]:
    """Keep the text of a model that is declared now, if there is one; what the catalog's entry must say of it.

    A copy that no entry names is harmless.
    """
    if model is None:
        return {}
    return {COPY: _write(home, model.text), DIGEST: _digest(model.text.encode())}


def recall_model(home: Path, catalog: Catalog, name: str, extra: Mapping[str, Any]) -> Catalog:
    """The catalog in which the model of an entry says what it said when it was declared."""
    model = catalog.models.get(name)
    if model is None or COPY not in extra:
        return catalog
    return catalog.with_model(replace(model, text=read_model(home, name, extra)))


def read_model(home: Path, name: str, extra: Mapping[str, Any]) -> str:
    """The text of a model that an entry names; HOME_CORRUPT if it is not what was kept."""
    relative = extra[COPY]
    try:
        data: bytes = (home / relative).read_bytes()
        if extra.get(DIGEST, _digest(data)) != _digest(data):
            raise ValueError("its checksum is wrong")
        return data.decode()
    except (OSError, ValueError) as failure:
        raise error(
            "HOME_CORRUPT",
            what=f"the copy '{relative}' of model '{name}'",
            path=home,
            why=str(failure),
            fix="restore the file from a backup of the home",
        ) from failure


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _write(home: Path, text: str) -> str:
    # Not by the model's name: a name may hold any character, a path must not.
    relative = f"models/{uuid.uuid4().hex}.json"
    path = home / relative
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as sink:
        sink.write(text)
        sink.flush()
        os.fsync(sink.fileno())
    return relative
