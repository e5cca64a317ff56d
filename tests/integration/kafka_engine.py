"""An engine in a process of its own, to be killed: `python kafka_engine.py HOME JARS STATEMENT` goes on until then."""

from __future__ import annotations

import sys
import time

from presage import Engine

if __name__ == "__main__":
    home, jars, statement = sys.argv[1:]
    with Engine(home=home, settings={"spark.jars": jars}, allow_hosts=["localhost"]) as engine:
        while True:
            print(engine.sources["Tick"].rows, engine.deployments[statement].status.state, flush=True)
            time.sleep(0.05)
