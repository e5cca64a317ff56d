#!/usr/bin/env bash
# Finds Chromium for `make browser`, or installs it with the system's package manager where it may.
set -euo pipefail
for name in chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null; then
    exit 0
  fi
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing chromium"
  output="$(apt-get update -qq 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core 2>&1)" \
    || { echo "$output"; exit 1; }
else
  echo "install the package chromium first"
  exit 1
fi
