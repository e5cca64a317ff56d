"""The warm copy of a home that a standby keeps while another process has it.

It reads what an opening needs and what takes long: records of the journal, the programs of statements, their states,
and their kernels. It has no lock and writes nothing. The opening uses what is still true: records are immutable, and
compared with the journal by the last one; states are known by the parts of files that hold them; programs by the
entries of the catalog that they were compiled from.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable
from importlib import import_module
from importlib.util import find_spec

from presage.errors import PresageError
from presage.live.catalog_replay import CatalogReplay
from presage.live.program import Program
from presage.live.state_files import Chain, chains_from_json, read_chain
from presage.live.statement_compiler import StatementCompiler
from presage.logging import INFO, tell
from presage.model.operator_state import State
from presage.storage.catalog_log import CatalogLog
from presage.storage.home import HomeLayout
from presage.storage.home_state import HomeState
from presage.storage.standby import Standby

PAUSE = 2.0  # seconds between two rounds, and
SHARE = 5  # so many times those that a round took: the holder needs the machine, too


class WarmCopy:
    """`standby` follows the journal; `start_spark` starts a session in the background, for statements that need one and
    for sources of the kinds `on_spark`."""

    def __init__(
        self,
        home: HomeLayout,
        standby: Standby,
        compiler: StatementCompiler,
        start_spark: Callable[[], None],
        on_spark: Collection[str] = (),
    ) -> None:
        self._home, self._standby, self._start_spark, self._on_spark = home, standby, start_spark, {*on_spark}
        self._catalog = CatalogLog(home.catalog, home.store)
        self.replay = CatalogReplay(home, compiler)
        self.states: dict[Chain, State] = {}
        self._loaded: set[str] = set()  # operators whose kernels are loaded
        self._stopped = threading.Event()
        self._failure = ""
        self._thread = threading.Thread(target=self._run, name="presage-standby", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End with what is there."""
        self._stopped.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._stopped.wait(pause):
            began = time.monotonic()
            try:
                self.follow()
                self._failure = ""
            except Exception as failure:  # the home is being written: the next round reads more of it
                if str(failure) != self._failure:
                    self._failure = str(failure)
                    tell(INFO, "STANDBY", "the standby reads the home again: {why}", why=failure)
            pause = max(PAUSE, SHARE * (time.monotonic() - began))

    def follow(self) -> None:
        """One round: read what is new."""
        state = self._standby.follow(self._home)
        known = {entry.version: entry for entry in self.replay.entries}
        versions = range(1, state.catalog_version + 1)
        entries = [known[version] if version in known else self._catalog.read_version(version) for version in versions]
        self.replay.advance(entries, state.live.statements, self._stopped.is_set)
        self._load_kernels(self.replay.programs.values())
        kinds = {each.options.get("source") for each in self.replay.compiler.workspace.catalog.types.values()}
        if kinds & self._on_spark or any(program.catalyst for program in self.replay.programs.values()):
            self._start_spark()
        self._read_states(state)

    def _read_states(self, state: HomeState) -> None:
        places = [each.get("states", {}) for each in state.live.statements.values()]
        read: dict[Chain, State] = {}
        for chains in map(chains_from_json, [*places, *state.live.shared_states.values()]):
            for chain in chains.values():
                if self._stopped.is_set():
                    self.states |= read
                    return
                try:
                    read[chain] = read_chain(self._home.store, self._home.states, chain, self.states)
                except PresageError:
                    continue  # a later batch has replaced it: the next round reads that
        self.states = read

    def _load_kernels(self, programs: Iterable[Program]) -> None:
        """Load the kernels of the operators, or compile them: in a thread that the opening does not wait for."""
        modules = {type(node).__module__ for program in programs for node in program.plan.walk()}
        used = {module.split(".")[2] for module in modules if module.startswith("presage.operators.")} - self._loaded
        self._loaded |= used
        packages = [f"presage.operators.{operator}.kernel" for operator in sorted(used)]
        wanted = [f"{package}.warm" for package in packages if find_spec(package) and find_spec(f"{package}.warm")]
        if wanted:
            threading.Thread(target=_warm, args=(wanted,), name="presage-kernels", daemon=True).start()


def _warm(modules: list[str]) -> None:
    for module in modules:
        import_module(module).warm()
