"""A home with deployed statements and no Spark: it is opened, it dies where it is told to, it is opened again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from presage.lang import syntax as s
from presage.lang.printer import print_statement
from presage.live.deployment import Deployment, Subscriber
from presage.live.deployments import DeploymentRegistry, restore_catalog
from presage.live.derived import CAUSE
from presage.live.job import Job
from presage.live.state_files import read_chain
from presage.live.statement import Statement
from presage.live.statement_compiler import StatementCompiler
from presage.model.catalog import Catalog, EventType
from presage.storage import Log
from presage.storage.catalog_codec import save_declaration
from presage.storage.columns import SEQ
from presage.storage.delta import DeltaTables
from presage.storage.failpoints import Failpoints
from presage.storage.home import DERIVED
from presage.storage.relations import relation_table
from presage.workspace import Workspace
from recovery.crashing import MemoryDisk


class Living:
    """What an engine does with a home, without the session. `disk`: tables in memory instead of Delta's. `roots`: of
    the folders that sources read."""

    _dead = False

    def __init__(
        self,
        home: Path | str,
        disk: MemoryDisk | None = None,
        points: Failpoints | None = None,
        now: int | None = None,
        roots: Sequence[Path] = (),
        **job: Any,
    ) -> None:
        tables = DeltaTables if disk is None else disk.tables()
        self.log = Log.open(home, durable=False, points=points, tables=tables)
        self.workspace = Workspace(roots, home if isinstance(home, Path) else Path())
        if now is not None:
            self.workspace.now = lambda: now
        self.relations: dict[str, pa.Table] = {}
        try:
            self.deployments = self._deployments(lambda: self.relations, **job)
            restore_catalog(self.log, self.workspace, self.deployments, self.relations)
        except BaseException:
            self.log.home.unlock()
            raise

    def _deployments(
        self,
        relations: Callable[[], Mapping[str, pa.Table]],
        shards: int = 1,
        subscribe: Callable[..., Subscriber] | None = None,
        **job: Any,
    ) -> DeploymentRegistry:
        self.job = Job(self.log, relations, self.stream, **job)
        compiler = StatementCompiler(self.workspace, shards=shards)
        return DeploymentRegistry(
            self.log, self.job, compiler, relations, lambda columns, table, remarks: table, subscribe=subscribe
        )

    @property
    def catalog(self) -> Catalog:
        return self.workspace.catalog

    def declare(self, text: str) -> None:
        for statement in self.workspace.parse(text).statements:
            before, after = self.catalog, self.workspace.declare(statement)
            name = str(getattr(statement, "insert_into", None) or getattr(statement, "name", ""))
            _, extra = save_declaration(self.log.home, name, before, after)
            self.log.append_catalog(
                "create",
                type(statement).__name__,
                name,
                print_statement(statement),
                extra,
                creates=[t for n, t in after.types.items() if t.kind == "stream" and n not in before.types],
            )
            self._see(after)

    def _see(self, catalog: Catalog) -> None:
        self.workspace.catalog = catalog
        self.relations = {name: relation_table(relation) for name, relation in catalog.relations.items()}

    def stream(self, name: str) -> EventType:
        return self.catalog.types[name]

    def load(self, stream: str, rows: list[dict[str, Any]], once: str | None = None) -> None:
        self.log.append(self.stream(stream), rows, once)

    def deploy(self, text: str, name: str, replace: bool = False, retention: int | None = None) -> Deployment:
        (query,) = self.workspace.parse(text).statements
        assert isinstance(query, s.Query)
        return self.deployments.deploy(query, name, replace, retention)

    def stop(self, name: str) -> None:
        self.deployments[name].stop()

    def drain(self) -> None:
        while self.deployments.job.advance():
            pass

    def die(self) -> None:
        """The lock is free, nothing else happens: a process that is gone closes nothing."""
        self._dead = True
        self.log.home.unlock()

    def close(self) -> None:
        if not self._dead:
            self.log.close()

    def __enter__(self) -> Living:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- what there is -------------------------------------------------------------------------------

    def rows(self, name: str) -> list[dict[str, Any]]:
        return self.deployments[name].table().to_pylist()

    def derived(self, name: str) -> list[dict[str, Any]]:
        """Rows of a derived stream's own archive, by sequence number; which numbers events have depends on batches."""
        table = self.log.archive.read_arrow(self.log.archive.snapshot(DERIVED + name)).sort_by(SEQ)
        return table.drop_columns([SEQ, CAUSE]).to_pylist()

    def found(self) -> dict[str, Any]:
        """All that may be compared with another home: rows by the number of their statement, places, counts."""
        job = self.deployments.job
        live: Mapping[str, Statement] = job.statements
        return {
            "statements": {
                number: (
                    st.name,
                    st.text,
                    st.status,
                    st.error,
                    st.rows_in,
                    st.rows_out,
                    st.to_skip,
                    job.position_of(st),
                    list(map(repr, Deployment(self.deployments, number).table().to_pylist())),
                )
                for number, st in live.items()
            },
            "derived": {
                t.name: list(map(repr, self.derived(t.name)))
                for t in self.catalog.types.values()
                if t.kind == "derived" and self.log.archive.holds(DERIVED + t.name)
            },
            "position": self.log.position,
            "producers": {t.name: t.producers for t in self.catalog.types.values() if t.kind == "derived"},
        }

    def states(self) -> dict[str, bytes]:
        """What the states hold, by statement, shard and place in the plan."""
        return {
            f"{number}/{key}": read_chain(self.log.home.store, self.log.home.states, chain).to_bytes()
            for number, st in self.deployments.job.statements.items()
            for key, chain in st.states.items()
        }

    def state_files(self) -> tuple[set[str], set[str]]:
        """The files that are there, and those that a statement names."""
        chains = [chain for st in self.deployments.job.statements.values() for chain in st.states.values()]
        there = self.log.home.store.names(self.log.home.states)
        return set(there), {ref.file for chain in chains for ref in chain}
