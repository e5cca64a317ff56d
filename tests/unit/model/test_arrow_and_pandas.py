"""Arrow without pandas gives the same values, and knows pandas again where there is an object of it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

LOAD = """
import sys
import pyarrow as pa
from presage.storage.ingest import check
from presage.model.catalog import Attribute
from presage.model.types import DOUBLE, STRING

def shown(data):
    checked = check((Attribute("x", STRING), Attribute("y", DOUBLE)), None, data)
    print(checked.table.to_pydict(), checked.rejected.reasons, checked.rejected.raws)

"""
NANOSECONDS = """
moments = pa.array([1709283600123456789, None], pa.timestamp("ns", "UTC"))
for x in (moments, moments.cast(pa.int64()).cast(pa.duration("ns")), pa.StructArray.from_arrays([moments], ["in"])):
    shown(pa.table({"x": x, "y": [1.0, None], "z": moments}))
"""
FRAME = """
import pandas
shown(pandas.DataFrame({"x": ["a", None], "y": pandas.array([1.5, None], "Float64")}))
"""
LEFT_OUT = """
from presage.model.arrow_and_pandas import leave_pandas_out
leave_pandas_out()
assert pa.array([1.0]).to_pylist() == [1.0] and "pandas" not in sys.modules
"""


def printed(program: str, **settings: str) -> str:
    environment = os.environ | {"PYTHONPATH": ":".join(sys.path)} | settings
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert not done.stderr
    return done.stdout


@pytest.mark.parametrize("data", [NANOSECONDS, FRAME], ids=["nanoseconds", "a frame"])
def test_rows_are_the_same_with_pandas_left_out(data: str) -> None:
    assert printed(LOAD + LEFT_OUT + data) == printed(LOAD + data) != ""


def test_results_still_become_frames() -> None:
    program = LOAD + LEFT_OUT + "print(pa.table({'x': [1]}).to_pandas()['x'].tolist())"
    assert printed(program) == "[1]\n"


def test_extensions_may_use_pandas() -> None:
    program = LOAD + LEFT_OUT.split("assert")[0] + "pa.array([1.0]); print('pandas' in sys.modules)"
    assert printed(program, PRESAGE_EXTENSIONS="market") == "True\n"
