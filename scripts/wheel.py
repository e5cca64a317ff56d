"""Builds the wheel with kernels compiled for any processor of this architecture, into dist/ (`make wheel`).

They are compiled in processes of their own, by Numba's variables, and stay in build/kernels for the next time.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from presage.arrays.kernel_folders import VARIABLE, folder_name

ROOT = Path(__file__).parents[1]
BUILT = ROOT / "build" / "kernels"
ANY_PROCESSOR = {
    "NUMBA_CPU_NAME": "generic",
    "NUMBA_CPU_FEATURES": "",
    # Its functions are in a library that the user's machine may lack, and then Numba would end the process.
    "NUMBA_DISABLE_INTEL_SVML": "1",
}


def main() -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")}
    print("compiling the kernels for any processor")
    command = [sys.executable, "-m", "presage.compile_kernels"]
    subprocess.run(command, check=True, env=own | ANY_PROCESSOR | {VARIABLE: str(BUILT)})
    chosen = ROOT / "build" / "bundled"
    shutil.rmtree(chosen, ignore_errors=True)
    shutil.copytree(BUILT / folder_name(), chosen / folder_name())
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(ROOT / "dist"), str(ROOT)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=own | {"PRESAGE_KERNELS": str(chosen)})
    (wheel,) = (ROOT / "dist").glob("presage-*.whl")
    print(f"{wheel.relative_to(ROOT)}: {wheel.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
