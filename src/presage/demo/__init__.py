"""What `presage demo` shows: a smart building and a campus, their statements, their events and the walk through them.

It is part of the package because the demo runs from an installed wheel, without a checkout; `examples/` holds copies of
the files that it writes. Tests and benchmarks use the campus as a world for knowledge, too.
"""

from __future__ import annotations

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
