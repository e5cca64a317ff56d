"""Units of history are a partition of its time, newest first, of about the size that was asked for."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from presage.operators.recall.history_chunks import Chunk, history_chunks

File = tuple[int, int, int]
FILES = st.lists(
    st.tuples(
        st.integers(-50, 200) | st.integers(1_700_000_000_000_000, 1_700_000_000_000_100),
        st.sampled_from([0, 0, 1, 5, 40, 40, 100]),
        st.integers(0, 60),
    ).map(lambda f: (f[0], f[0] + f[1], f[2])),
    max_size=12,
)
SMALL_CHUNKS = 2


def rows_in(files: list[File], unit: Chunk) -> Fraction:
    """Rows of a span, if each file has them evenly spread."""
    return sum(
        (
            Fraction(rows * max(min(unit.high, last + 1) - max(unit.low, first), 0), last + 1 - first)
            for first, last, rows in files
        ),
        Fraction(0),
    )


@given(files=FILES, chunk=st.integers(1, 80))
def test_units_are_a_partition_of_the_whole_history_newest_first(files, chunk):
    units = history_chunks(files, chunk, SMALL_CHUNKS)
    held = [file for file in files if file[2]]
    assert bool(units) == bool(held)
    if units:
        assert units[0].high == max(last for _, last, _ in held) + 1
        assert units[-1].low == min(first for first, _, _ in held)
    assert all(newer.low == older.high for newer, older in pairwise(units))
    assert all(unit.low < unit.high for unit in units)
    assert all(rows_in(held, unit) > 0 for unit in units), "each reads something"


@given(files=FILES, chunk=st.integers(1, 80))
def test_units_have_about_their_size_unless_one_microsecond_has_more(files, chunk):
    units = history_chunks(files, chunk, SMALL_CHUNKS)
    for place, unit in enumerate(units):
        size = chunk * 2 ** max(place + 1 - SMALL_CHUNKS, 0)
        rows = rows_in(files, unit)
        # The microsecond at either end may be too many or, left out, too few. Before the oldest one may lie a gap.
        oldest = min(max(first, unit.low) for first, last, rows in files if rows and last >= unit.low)
        at_ends = max(rows_in(files, Chunk(t, t + 1)) for t in (unit.low - 1, oldest, unit.high - 1))
        slack = max(Fraction(size, 2), at_ends) + Fraction(1, 1000)
        assert rows <= size + slack
        assert rows >= size - slack or place == len(units) - 1


@given(
    sizes=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 30), st.integers(0, 3)), min_size=1, max_size=30),
    chunk=st.integers(30, 60),
)
def test_files_that_follow_one_another_and_fit_into_a_unit_are_read_once(sizes, chunk):
    files, time = [], 0
    for length, rows, gap in sizes:
        files.append((time, time + length - 1, rows))
        time += length + gap
    for unit in history_chunks(files, chunk, SMALL_CHUNKS):
        assert not [f for f in files if f[0] < unit.low <= f[1]]


@given(files=FILES, chunk=st.integers(1, 80), shuffled=st.randoms(use_true_random=False))
def test_the_order_in_which_files_are_named_does_not_matter(files, chunk, shuffled):
    others = list(files)
    shuffled.shuffle(others)
    assert history_chunks(others, chunk) == history_chunks(files, chunk)


@given(files=FILES)
def test_long_histories_need_few_units(files):
    total = sum(rows for _, _, rows in files)
    assert len(history_chunks(files, 1, 3)) <= 3 + max(total, 1).bit_length() + 1
