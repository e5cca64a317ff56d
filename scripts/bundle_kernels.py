"""Hatchling's hook for `make wheel`: takes the kernels in the folder PRESAGE_KERNELS along, and tags the wheel.

Without that variable the wheel is for any Python and machine, as one that is built from the sdist: its kernels are
compiled when they are first used.
"""

from __future__ import annotations

import os
import sys
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelsHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        folder = os.environ.get("PRESAGE_KERNELS")
        if not folder or version == "editable":
            return
        python = f"cp{sys.version_info.major}{sys.version_info.minor}"
        machine = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"{python}-{python}{sys.abiflags}-{machine}"
        build_data["force_include"][folder] = "presage/kernels"
