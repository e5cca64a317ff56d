"""DROP: refused while it is in use, or where events would be deleted; with CASCADE they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from presage.errors import error
from presage.lang import syntax as s
from presage.live.deployment import Shown
from presage.live.deployments import DeploymentRegistry
from presage.live.derived import derived_table
from presage.storage import Archive
from presage.workspace import Workspace

COLUMNS = ("kind", "name", "events", "late", "rejected", "held")


@dataclass(frozen=True)
class _Held:
    """What is deleted, or stopped, with a name."""

    kind: str
    name: str
    events: int = 0
    late: int = 0
    rejected: int = 0
    held: int = 0  # events that wait for others of their source

    def __str__(self) -> str:
        counts = (("late", self.late), ("rejected", self.rejected), ("held back", self.held))
        beside = [f"{count:,} {what}" for what, count in counts if count]
        more = f", {', '.join(beside[:-1])}{' and ' if beside[1:] else ''}{beside[-1]}" if beside else ""
        return f"{self.kind} '{self.name}'" + (f" ({self.events:,} events{more})" if self.events or beside else "")


def execute_drop(
    statement: s.Drop,
    workspace: Workspace,
    archive: Archive,
    deployments: DeploymentRegistry,
    declare: Callable[[s.Statement], None],
) -> Shown | None:
    """Execute a DROP; with CASCADE the names of columns, and a row for each thing that has gone."""
    if statement.kind == "statement":
        # Without waiting for subscribers: one of them may wait for us.
        deployments[statement.name].stop(patience=0)
        return None
    workspace.declare(replace(statement, cascade=True))  # refuses a name that is not there, before anything has gone
    names = [*workspace.dependents(statement), statement.name]
    held = [_held(name, workspace, archive) for name in names]
    users = [*dict.fromkeys(user for name in names for user in deployments.users(name))]
    if not statement.cascade:
        if held[-1].events or held[-1].late or held[-1].held:
            beside = [*(f"statement '{user}'" for user in users), *map(str, held[:-1])]
            more, kind = f"; with it would go {', '.join(beside)}" if beside else "", statement.kind.upper()
            raise error("HOLDS_EVENTS", statement.span, what=held[-1], kind=kind, name=statement.name, more=more)
        deployments.refuse_if_used(statement)
        declare(statement)
        return None
    for user in users:
        deployments[user].stop(patience=0)
    for each in held:
        kind = "stream" if each.kind == "derived stream" else each.kind.split()[0]
        declare(s.Drop(kind, each.name, span=statement.span))
    gone = [*(_Held("statement", user) for user in users), *held]
    return COLUMNS, [(one.kind, one.name, one.events, one.late, one.rejected, one.held) for one in gone]


def _held(name: str, workspace: Workspace, archive: Archive) -> _Held:
    made = workspace.catalog.types.get(name)
    if made is None:
        return _Held(workspace.catalog.kind(name), name)
    table = derived_table(name) if made.kind == "derived" else name
    kind = "derived stream" if made.kind == "derived" else made.kind
    if not archive.holds(table):
        return _Held(kind, name)
    info = archive.describe(table)
    return _Held(kind, name, info.retained, info.late, info.rejected, archive.held(table))
