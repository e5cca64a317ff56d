"""What a user sees of a source: its state, how far it is, what it has brought."""

from __future__ import annotations

from dataclasses import dataclass

RUNNING, WAITING, FAILED, FINISHED, STOPPED = "running", "waiting", "failed", "finished", "stopped"


@dataclass(frozen=True)
class SourceStatus:
    """A source at one moment. `why`: what it waits for, or why it has failed. `rows`: events, late ones too, that it
    has brought since the stream was declared; `rejected`: records that were none. `notes`: what one should look at.
    `left`: parts, files for example, that it has found and not brought; None before it has looked."""

    stream: str
    source: str
    state: str  # running, waiting, failed, finished, stopped
    why: str
    position: str
    rows: int
    rejected: int
    notes: tuple[str, ...] = ()
    left: int | None = None

    @property
    def has_ended(self) -> bool:
        return self.state in (FINISHED, FAILED, STOPPED)

    def __str__(self) -> str:
        return f"{self.state}: {self.why}" if self.why else self.state

    def described(self) -> list[tuple[str, str]]:
        """Properties and values, for DESCRIBE."""
        counts = [("source rows", str(self.rows)), ("source rejected", str(self.rejected))]
        notes = [(f"source note {i}", note) for i, note in enumerate(self.notes, 1)]
        return [("source state", str(self)), ("source position", self.position), *counts, *notes]
