"""Figures in Prometheus' text format and as JSON: what they say, and that anybody can read them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presage.errors import error
from presage.live.meters import BOUNDS, Histogram
from presage.model import redaction
from presage.operations.engine_report import FILE, Reporter
from presage.operations.figures import closed_home_metrics
from presage.operations.metrics import METRICS, Metrics
from presage.storage.snapshot_reader import read_snapshot
from recovery.living import Living
from unit.operations.homes import EVENTS, MEAN, TICK, collector, fill, tick

# The grammar of the format 0.0.4, written down once more.
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\\\|\\"|\\n)*"'
SAMPLE = re.compile(
    rf"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|NaN)"
)
Sample = tuple[str, dict[str, str], float]


def parsed(text: str) -> tuple[dict[str, str], list[Sample]]:
    """Kinds by name, and samples; every sample follows the HELP and TYPE of its own name."""
    kinds: dict[str, str] = {}
    samples: list[Sample] = []
    told = ""
    assert text.endswith("\n")
    for line in text.removesuffix("\n").split("\n"):
        if line.startswith("# HELP "):
            told = line.split(" ")[2]
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            assert name == told
            assert name not in kinds, "a name is told once"
            kinds[name] = kind
        else:
            found = SAMPLE.fullmatch(line)
            assert found is not None, line
            assert found[1] == told or found[1].removeprefix(told) in ("_bucket", "_sum", "_count")
            pairs = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\\\|\\"|\\n)*)"', found[2] or "")
            plain = {n: re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), v) for n, v in pairs}
            samples.append((found[1], plain, float(found[3])))
    return kinds, samples


def of(samples: list[Sample], name: str, **labels: str) -> float:
    (value,) = [v for n, found, v in samples if n == name and found == labels]
    return value


@pytest.fixture
def living(tmp_path: Path) -> Iterator[Living]:
    fill(tmp_path / "home")
    with Living(tmp_path / "home") as made:
        yield made


def test_the_figures_of_a_home_are_those_of_its_statements_and_streams(living: Living) -> None:
    _, samples = parsed(collector(living)().prometheus())
    assert of(samples, "presage_stream_events_total", stream="Tick") == EVENTS
    assert of(samples, "presage_stream_late_total", stream="Tick") == 1
    assert of(samples, "presage_stream_rejected_total", stream="Tick") == 1
    status = living.deployments["means"].status
    assert of(samples, "presage_statement_rows_in_total", statement="means") == status.rows_in == EVENTS
    assert of(samples, "presage_statement_rows_out_total", statement="means") == status.rows_out
    assert of(samples, "presage_statement_state_bytes", statement="means") == status.state_size > 0
    assert of(samples, "presage_statement_state", statement="hot", state="running") == 1
    assert of(samples, "presage_stream_events_total", stream="Hot") == len(living.derived("Hot"))
    assert status.watermark is not None
    assert of(samples, "presage_statement_watermark_seconds", statement="means") == status.watermark.timestamp()


def test_a_home_at_rest_has_the_same_figures_but_for_those_of_a_process(living: Living) -> None:
    open_values = collector(living)().values
    rest = closed_home_metrics(read_snapshot(living.log.home.path)).values
    assert rest["streams"] == open_values["streams"]
    of_processes = {"batch_seconds", "batch_seconds_last", "failures"}
    for name, figures in open_values["statements"].items():
        assert rest["statements"][name] == {k: v for k, v in figures.items() if k not in of_processes}
    assert "process" not in rest


def test_batches_are_counted_and_timed_and_failures_too(living: Living) -> None:
    for second in (300, 310):
        living.load("Tick", [tick(second)])
        living.drain()
    living.deployments.job.change_programs({}, {"1": error("INTERNAL", what="a test").render()})
    kinds, samples = parsed(collector(living)().prometheus())
    assert kinds["presage_batch_seconds"] == "histogram"
    assert of(samples, "presage_batch_seconds_count") == of(samples, "presage_batch_seconds_bucket", le="+Inf") == 2
    assert of(samples, "presage_statement_batch_seconds", statement="means") > 0
    assert of(samples, "presage_statement_failures_total", statement="means") == 1
    assert of(samples, "presage_statement_state", statement="means", state="failed") == 1


def test_a_statement_that_is_behind_says_by_how_much(living: Living) -> None:
    living.load("Tick", [tick(300), tick(301), tick(302)])
    figures = collector(living)().values["statements"]
    assert figures["means"]["lag"] == living.deployments["means"].status.lag == 3
    assert closed_home_metrics(read_snapshot(living.log.home.path)).values["statements"]["means"]["lag"] == 3


def test_of_two_statements_of_one_name_the_last_is_told_so_that_no_series_is_there_twice(tmp_path: Path) -> None:
    with Living(tmp_path / "home") as living:
        living.declare(TICK)
        living.deploy(MEAN, "means")
        living.deploy(MEAN + " HAVING avg(price) > 1", "means", replace=True)
        _, samples = parsed(collector(living)().prometheus())
        assert of(samples, "presage_statement_state", statement="means", state="running") == 1
        keys = [(name, tuple(sorted(labels.items()))) for name, labels, _ in samples]
        assert len(keys) == len(set(keys))


def test_reading_figures_waits_for_no_batch(living: Living) -> None:
    with living.deployments.job.between_batches():
        import threading

        found: list[Metrics] = []
        reader = threading.Thread(target=lambda: found.append(collector(living)()))
        reader.start()
        reader.join(10)
        assert found


@given(name=st.text(min_size=1), value=st.integers(0, 2**53) | st.floats(0, 1e300))
def test_any_name_comes_back_from_the_text(name: str, value: float) -> None:
    figures = {"streams": {name: {"events": value, "chunk_files": {"old": 1}}}}
    _, samples = parsed(Metrics(figures).prometheus())
    assert of(samples, "presage_stream_events_total", stream=name) == float(value)
    assert json.loads(Metrics(figures).json()) == figures


@given(st.lists(st.floats(0, 100), max_size=50))
def test_a_histogram_counts_what_lies_at_or_below_each_bound(seconds: list[float]) -> None:
    made = Histogram()
    for each in seconds:
        made.observe(each)
    read = made.read()
    assert [read[f"{bound:g}"] for bound in BOUNDS] == [sum(s <= bound for s in seconds) for bound in BOUNDS]
    assert read["+Inf"] == len(seconds)
    assert read["sum"] == pytest.approx(sum(seconds))


def test_secrets_are_in_neither_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "_secrets", ())
    redaction.keep_out("hunter22")
    redaction.keep_out("ab")  # too short to be looked for
    figures = {"streams": {"a hunter22 b": {"events": 1}}}
    assert "hunter22" not in Metrics(figures).json() + Metrics(figures).prometheus()
    assert redaction.masked("cab hunter22") == f"cab {redaction.MASK}"


def test_a_secret_is_kept_out_however_its_letters_are_spelled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(redaction, "_secrets", ())
    secret = 'pá"ss\\wörd'
    redaction.keep_out(secret)
    figures = Metrics({"at": 0.0, "streams": {f"a {secret} b": {"events": 1}}})
    made = Reporter(lambda: figures, tmp_path)
    made.report()
    for text in (figures.json(), figures.prometheus(), (tmp_path / FILE).read_text()):
        assert f"a {redaction.MASK} b" in text
    made.stop()


def test_the_page_on_monitoring_lists_every_metric() -> None:
    page = (Path(__file__).parents[3] / "docs" / "guide" / "monitoring.md").read_text()
    told = set(re.findall(r"`(presage_[a-z_]+)`", page))
    assert {metric.name for metric in METRICS} <= told
    assert told - {metric.name for metric in METRICS} == set()
