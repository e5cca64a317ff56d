#!/usr/bin/env bash
# Finds the MQTT broker Mosquitto for `make integration`, or installs it with the system's package manager where it may.
set -euo pipefail
if command -v mosquitto >/dev/null || [ -x /usr/sbin/mosquitto ]; then
  exit 0
fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing mosquitto"
  # Only the program: the tests start it themselves, on the loopback.
  output="$(apt-get update -qq 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mosquitto 2>&1)" \
    || { echo "$output"; exit 1; }
else
  echo "the tests of MQTT are left out: install the package mosquitto"
fi
