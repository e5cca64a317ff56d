"""DROP: rejected for names in use and streams with events, unless it has CASCADE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass, replace

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
    """What DROP deletes or stops."""

    kind: str
    name: str
    events: int = 0
    late: int = 0
    rejected: int = 0
    held: int = 0  # events that wait for missing offsets of their source

    def __str__(self) -> str:
        counts = (("late", self.late), ("rejected", self.rejected), ("held back", self.held))
        others = [f"{count:,} {what}" for what, count in counts if count]
        more = f", {', '.join(others[:-1])}{' and ' if others[1:] else ''}{others[-1]}" if others else ""
        return f"{self.kind} '{self.name}'" + (f" ({self.events:,} events{more})" if self.events or others else "")


def execute_drop(
    statement: s.Drop,
    workspace: Workspace,
    archive: Archive,
    deployments: DeploymentRegistry,
    declare: Callable[[s.Statement], None],
) -> Shown | None:
    """Execute a DROP; with CASCADE returns names of columns, and a row for each thing that was dropped."""
    if statement.kind == "statement":
        # Without waiting for subscribers: one of them may wait for the engine's lock.
        deployments[statement.name].stop(patience=0)
        return None
    workspace.declare(replace(statement, cascade=True))  # rejects an unknown name, before anything is dropped
    names = [*workspace.dependents(statement), statement.name]
    held = [_held(name, workspace, archive) for name in names]
    users = [*dict.fromkeys(user for name in names for user in deployments.users(name))]
    if not statement.cascade:
        if held[-1].events or held[-1].late or held[-1].held:
            others = [*(f"statement '{user}'" for user in users), *map(str, held[:-1])]
            more, kind = f"; with it would go {', '.join(others)}" if others else "", statement.kind.upper()
            raise error("HOLDS_EVENTS", statement.span, what=held[-1], kind=kind, name=statement.name, more=more)
        deployments.refuse_if_used(statement)
        declare(statement)
        return None
    for user in users:
        deployments[user].stop(patience=0)
    for each in held:
        kind = "stream" if each.kind == "derived stream" else each.kind.split()[0]
        declare(s.Drop(kind, each.name, span=statement.span))
    dropped = [*(_Held("statement", user) for user in users), *held]
    return COLUMNS, [astuple(one) for one in dropped]


def _held(name: str, workspace: Workspace, archive: Archive) -> _Held:
    event_type = workspace.catalog.types.get(name)
    if event_type is None:
        return _Held(workspace.catalog.kind(name), name)
    derived = event_type.kind == "derived"
    table, kind = (derived_table(name), "derived stream") if derived else (name, event_type.kind)
    if not archive.holds(table):
        return _Held(kind, name)
    info = archive.describe(table)
    return _Held(kind, name, info.retained, info.late, info.rejected, archive.held(table))
