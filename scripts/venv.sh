#!/usr/bin/env bash
# Makes the virtual environment given as $1 with the newest suitable Python, or keeps the one that is there.
set -euo pipefail
venv=${1:?usage: scripts/venv.sh FOLDER}

suits() { # a Python >= 3.11 that runs (shims of version managers may not)
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

if [ -x "$venv/bin/python" ] && suits "$venv/bin/python" && "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

# Debian ships Python without what a virtual environment needs; a Python that has it goes first.
python=
incomplete=
for candidate in python3.13 python3.12 python3.11 python3; do
    if suits "$candidate"; then
        if "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
            python=$candidate
            break
        fi
        incomplete=${incomplete:-$candidate}
    fi
done

if [ -z "$python" ] && [ -n "$incomplete" ]; then
    package=$("$incomplete" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        echo "installing $package" >&2
        apt-get update -qq >&2
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$package" >&2
        python=$incomplete
    else
        echo "$incomplete cannot make virtual environments. Run: sudo apt-get install $package" >&2
        exit 1
    fi
fi

if [ -z "$python" ]; then
    echo "Python 3.11 or later was not found (looked for python3.13, python3.12, python3.11, python3)." >&2
    echo "Install it, for example: sudo apt-get install python3 python3-venv" >&2
    exit 1
fi

echo "making $venv with $("$python" --version)" >&2
"$python" -m venv --clear "$venv"
