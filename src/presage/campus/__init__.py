"""A campus to try things on: an ontology of its buildings and sensors, JSON-LD contexts, statements, and events."""

from __future__ import annotations

from presage.campus.events import (
    airflow_events,
    airvolume_events,
    meter_events,
    occupancy_events,
    temperature_events,
    write_campus,
    write_example,
)
from presage.campus.ontology import Campus, iri_of, make_campus, make_ontology, read, vocabulary

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
