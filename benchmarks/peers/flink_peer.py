"""A CSV file of ticks in; for each line of standard input the seconds, and the matches if asked for, of one job out.

Runs in an environment that has PyFlink and nothing of Presage. A request is a mode, `batch` or `streaming`, and `run`
or `count`: the former sends the matches into a black hole, the latter has Flink count them. Seconds are Flink's own
net run time of the job: neither the start of Java, nor planning, nor the start of the cluster in this process counts.
"""

from __future__ import annotations

import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

SLOTS = "2"
SETTINGS = {
    "parallelism.default": SLOTS,
    "taskmanager.numberOfTaskSlots": SLOTS,
    "table.local-time-zone": "UTC",
}
# A stream's count changes with every match; in large portions there are few changes to collect.
PORTIONS = {
    "table.exec.mini-batch.enabled": "true",
    "table.exec.mini-batch.allow-latency": "1 h",
    "table.exec.mini-batch.size": "100000000",
}
SINK = """CREATE TABLE Falls (sym STRING, start_price DOUBLE, bottom DOUBLE, end_price DOUBLE)
WITH ('connector' = 'blackhole')"""
# Flink has no PREV: the row before a DOWN is the DOWN before it, or else STRT.
QUERY = """SELECT * FROM Tick MATCH_RECOGNIZE (
  PARTITION BY sym ORDER BY `at`
  MEASURES STRT.price AS start_price, LAST(DOWN.price) AS bottom, UP.price AS end_price
  ONE ROW PER MATCH
  AFTER MATCH SKIP PAST LAST ROW
  PATTERN (STRT DOWN{3,} UP)
  DEFINE
    DOWN AS DOWN.price < LAST(DOWN.price, 1) OR (LAST(DOWN.price, 1) IS NULL AND DOWN.price < STRT.price),
    UP AS UP.price > LAST(DOWN.price)
)"""


def open_environment(mode: str, path: str) -> TableEnvironment:
    batch = mode == "batch"
    environment = TableEnvironment.create(
        EnvironmentSettings.in_batch_mode() if batch else EnvironmentSettings.in_streaming_mode()
    )
    for name, value in SETTINGS.items():
        environment.get_config().set(name, value)
    environment.execute_sql(
        "CREATE TABLE Tick (sym STRING, price DOUBLE, `at` TIMESTAMP(3), WATERMARK FOR `at` AS `at`) "
        f"WITH ('connector' = 'filesystem', 'path' = '{path}', 'format' = 'csv')"
    )
    environment.execute_sql(SINK)
    return environment


def run(environment: TableEnvironment) -> float:
    result = environment.execute_sql(f"INSERT INTO Falls {QUERY}")
    result.wait()
    job = result.get_job_client()
    assert job is not None
    return float(job.get_job_execution_result().result().get_net_runtime()) / 1_000


def count(environment: TableEnvironment) -> int:
    matches = 0
    with environment.execute_sql(f"SELECT COUNT(*) FROM ({QUERY})").collect() as rows:
        for row in rows:
            matches = int(row[0])
    return matches


def main(path: str) -> None:
    environments = {mode: open_environment(mode, path) for mode in ("batch", "streaming")}
    counting = {mode: open_environment(mode, path) for mode in environments}
    for name, value in PORTIONS.items():
        counting["streaming"].get_config().set(name, value)
    print("ready", flush=True)
    for request in sys.stdin:
        mode, what = request.split()
        if what == "count":
            print("answer", 0.0, count(counting[mode]), flush=True)
        else:
            print("answer", run(environments[mode]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
