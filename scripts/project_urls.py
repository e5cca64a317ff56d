"""Hatchling's hook for the addresses in the metadata of a package: those of the repository PRESAGE_REPOSITORY.

The workflow that builds packages sets it to its own repository. Without it a package has no addresses: a copy or a fork
must not name somebody else's repository, where users would report their problems.
"""

from __future__ import annotations

import os
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class AddressesHook(MetadataHookInterface):
    def update(self, metadata: dict[str, Any]) -> None:
        metadata["urls"] = urls_of(os.environ.get("PRESAGE_REPOSITORY", ""))


def urls_of(repository: str) -> dict[str, str]:
    """The addresses of a repository on GitHub, by their names in the metadata."""
    address = repository.rstrip("/")
    if not address:
        return {}
    if not address.startswith("https://"):
        raise ValueError(f"PRESAGE_REPOSITORY must begin with https://, found {repository!r}")
    return {
        "Documentation": f"{address}/tree/main/docs",
        "Source": address,
        "Changelog": f"{address}/blob/main/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }
