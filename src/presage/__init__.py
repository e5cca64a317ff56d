"""Presage: complex event processing for Spark. Public names only, loaded when they are first used."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from presage.engine import Engine
    from presage.errors import PresageError
    from presage.execution.result import Result
    from presage.frames import match_recognize
    from presage.live.deployment import Deployment
    from presage.storage import Leader, LoadReport, SourceOffsets, Standby, leader

__version__ = "0.1.0"
__all__ = [
    "Deployment",
    "Engine",
    "Leader",
    "LoadReport",
    "PresageError",
    "Result",
    "SourceOffsets",
    "Standby",
    "__version__",
    "leader",
    "match_recognize",
]

# Imported on first use: `presage check` must not wait for Spark.
_HOMES = {
    "Deployment": "presage.live.deployment",
    "Engine": "presage.engine",
    "Leader": "presage.storage",
    "LoadReport": "presage.storage",
    "PresageError": "presage.errors",
    "Result": "presage.execution.result",
    "SourceOffsets": "presage.storage",
    "Standby": "presage.storage",
    "leader": "presage.storage",
    "match_recognize": "presage.frames",
    # For `%load_ext presage` in a notebook.
    "load_ipython_extension": "presage.notebooks",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'presage' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
