"""The law of followed Delta tables: whatever is compacted and whenever it begins again, each added row is one event."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from presage.sources import file_reader, files
from presage.storage import Log
from unit.sources.folders import Stepped, stream
from unit.storage.delta_tables import compact, write

# A number: a version with so many rows; the words: of the table, and of the source that follows it.
ACTIONS = st.one_of(st.integers(1, 5), st.sampled_from(["compact", "step", "step", "begin"]))


@settings(max_examples=20, deadline=None)
@given(
    before=st.lists(st.integers(1, 3), max_size=2),
    actions=st.lists(ACTIONS, min_size=3, max_size=14),
    partitioned=st.booleans(),
    nested=st.booleans(),
)
def test_rows_of_a_table_are_events_once_each(
    before: list[int], actions: list[int | str], partitioned: bool, nested: bool
) -> None:
    written = 0
    with (
        tempfile.TemporaryDirectory() as place,
        patch.object(file_reader, "PIECE_ROWS", 2),
        patch.object(files, "PIECE_ROWS", 2),
        patch.object(file_reader, "DECODED_ROWS", 1),
        Log.open(Path(place) / "home", durable=False) as log,
    ):
        watched = Path(place) / "incoming"
        folder = watched / "ticks" if nested else watched
        source = stream(watched, max_delay=3600 * 1_000_000)
        log.create_stream(source)
        stepped = Stepped(log, source)
        for action in [*before, *actions]:
            if isinstance(action, int):
                write(folder, *range(written, written + action), partition_by=["s"] if partitioned else None)
                written += action
            elif action == "compact" and written:
                compact(folder)
            elif action == "begin":
                stepped.begin()
            else:
                stepped.step()
        stepped.drain()
        assert sorted(stepped.events()) == list(range(written))
        assert stepped.rejected() == []
        assert log.archive.describe("Tick").late == 0
        position = stepped.source.position(log.deliveries.state("Tick", "files").cursor)
        assert written == 0 or "version" in position
