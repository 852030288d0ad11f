#!/usr/bin/env bash
# The main job on a real model: installs what the build needs, builds, gets the model, then reads several thousand tokens
# with the f16 cache and with int4 and shows the two side by side. Safe to repeat.
set -euo pipefail
cd "$(dirname "$0")/.."

echo "==> system packages"
scripts/setup.sh build
echo "==> build (build/)"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { cmake --preset release && cmake --build build -j "$(nproc 2>/dev/null || echo 2)" --target ingot-cli; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "demo.sh: the build failed" >&2
    exit 1
fi
echo "==> model"
scripts/get-model.sh smollm2
exec python3 scripts/demo.py "$@"
