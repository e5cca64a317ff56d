#!/usr/bin/env bash
# Prints the home folder of a Java that Spark can run on; installs one where it may (root, apt-get), else says what to do.
set -euo pipefail
python=${1:-.venv/bin/python}

find_java() { "$python" -m presage.execution.spark.java; }

if home=$(find_java 2>/dev/null); then
    echo "$home"
    exit 0
fi

if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "installing Java (openjdk-17-jre-headless)" >&2
    apt-get update -qq >&2
    install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$1" >&2; }
    # Newer releases of Debian and Ubuntu have only a later Java.
    install openjdk-17-jre-headless || install default-jre-headless
fi

find_java
