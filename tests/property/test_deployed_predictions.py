"""A deployed query over predicted streams: at any moment it has told the first of the rows that the query gives of what
has arrived, and in the end all of them, however late updates are, however the input is cut, and through restarts."""

from __future__ import annotations

import tempfile
from pathlib import Path
from random import Random
from unittest.mock import patch

from hypothesis import event, given, settings
from hypothesis import strategies as st

from presage.live import state_delta as state_changes
from property.prediction_worlds import QUARTER, periods
from property.test_live_laws import POINTS
from property.test_predicted_queries import BUFFERS, KEYS, QUERIES, UNBUFFERED
from property.test_tentative_laws import BOUNDS, DELAYS, TentativeLife
from reference.predictions import Update

VALUES, RATES, THRESHOLDS = (-1.0, 0.0, 0.5, 1.0, 1.3, 3.0), (0.0, 0.0, 0.5, -0.7, 1.0), (0.0, 0.5, 1.0, 2.0)
ERRORS = ("", "", ", errors = 'normal', sigma = 0.3")


def world_of(dice: Random) -> list[Update]:
    """Drawn by dice, so that worlds in which nothing happens are rare: near each other, corrected and repeated."""
    several = list[Update]()
    for _ in range(dice.randint(6, 16)):
        two = [tuple(dice.choice(choices) for _ in range(2)) for choices in (VALUES, RATES, THRESHOLDS)]
        key, at = dice.choice(KEYS), dice.randrange(28) * QUARTER + dice.choice([0, 0, 1237])
        if several and dice.random() < 0.15:
            # A heartbeat, or a correction of the very moment.
            old = dice.choice(several)
            key, at = old.key, dice.choice([old.at, at])
            two = dice.choice([two, [old.values, old.rates, old.thresholds]])
        several.append(Update(key, at, *two))
    return several


@settings(max_examples=40)
@given(
    st.sampled_from(sorted(QUERIES)),
    periods,
    st.integers(0, 2**16),
    st.sampled_from(list(BOUNDS)),
    st.sampled_from(BUFFERS),
    st.sampled_from(ERRORS),
    st.sampled_from([1, 1, 2]),
    st.sampled_from([2, 5, 1000]),
)
def test_what_has_been_told_are_the_first_rows_of_the_query(
    name: str, period: int, seed: int, bound: str, buffer: str, errors: str, shards: int, rows_per_batch: int
) -> None:
    dice = Random(seed)
    coming = sorted(world_of(dice), key=lambda update: update.at + dice.choice(DELAYS) * QUARTER)
    more = errors if name in UNBUFFERED else buffer + errors
    with tempfile.TemporaryDirectory() as folder, patch.object(state_changes, "ROWS_WORTH_A_LOOK", 1):
        life = TentativeLife(
            Path(folder),
            QUERIES[name],
            bound,
            period,
            more,
            tentative=False,
            shards=shards,
            rows_per_batch=rows_per_batch,
        )
        while coming:
            count = dice.randint(1, 4)
            life.load(coming[:count], dice.choice(POINTS) if dice.random() < 0.2 else "never")
            coming = coming[count:]
            if dice.random() < 0.3:
                life.reopen(dying=dice.random() < 0.5)
            if dice.random() < 0.2:
                life.maintain()
            rows = life.rows()
            assert rows == life.asked()[: len(rows)]
        life.settle()
        rows = life.rows()
        assert rows == life.asked()
        event("rows" if rows else "none")
        life.home.close()
