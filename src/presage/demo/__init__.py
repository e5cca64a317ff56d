"""What `presage demo` shows: a smart building and a campus, their statements, their events and the walk through them.

It is part of the package because the demo runs from an installed wheel, without a checkout; `examples/` holds copies of
the files that it writes. Tests and benchmarks use the campus as a world for knowledge, too.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from presage.demo.campus_events import (
        airflow_events,
        airvolume_events,
        meter_events,
        occupancy_events,
        temperature_events,
        write_campus,
        write_example,
    )
    from presage.demo.campus_ontology import Campus, iri_of, make_campus, make_ontology, read, vocabulary

__all__ = [
    "Campus",
    "airflow_events",
    "airvolume_events",
    "iri_of",
    "make_campus",
    "make_ontology",
    "meter_events",
    "occupancy_events",
    "read",
    "temperature_events",
    "vocabulary",
    "write_campus",
    "write_example",
]


def __getattr__(name: str) -> Any:
    # Imported on first use: every command of the command line would wait for data libraries.
    if name not in __all__:
        raise AttributeError(f"module 'presage.demo' has no attribute '{name}'")
    modules = (import_module(f"presage.demo.{module}") for module in ("campus_events", "campus_ontology"))
    return next(getattr(module, name) for module in modules if hasattr(module, name))
