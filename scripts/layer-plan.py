#!/usr/bin/env python3
"""Which layers of a model deserve more bits, and which can do with fewer, at the same bits on average.

layer-plan.py -m MODEL -f TEXT [--base wush3] [--more wush4] [--less wush2] [-c 1024] [--windows 1] [--ingot build/ingot]

Measures the KL divergence with one layer at a time packed (all others f16), once as --base and once as --less, then raises
layers to --more while lowering as many others, as long as the divergence that this promises falls. Prints the plan for --kv.
The text must not be the one that the result is judged on. Costs two evaluations a layer."""
import argparse
import json
import subprocess
import sys


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-m", "--model", required=True)
    p.add_argument("-f", "--file", required=True, help="text to measure on")
    p.add_argument("-c", "--ctx", default="1024")
    p.add_argument("--windows", default="1")
    p.add_argument("--base", default="wush3")
    p.add_argument("--more", default="wush4")
    p.add_argument("--less", default="wush2")
    p.add_argument("--calibration")
    p.add_argument("--ingot", default="build/ingot")
    return p.parse_args()


def run(a, *words):
    r = subprocess.run([a.ingot, *words], stdout=subprocess.PIPE, text=True)
    if r.returncode:
        sys.exit(f"layer-plan.py: {' '.join(words)} failed")
    return json.loads(r.stdout)


def divergence(a, layer, method):
    words = ["eval", "kld", "-m", a.model, "-f", a.file, "-c", a.ctx, "--windows", a.windows, "--kv",
             f"f16 window=128 sinks=4 layers={layer}={method}", "--json", "-q"]
    return run(a, *words, *(["--calibration", a.calibration] if a.calibration else []))["mean"]


def choose(base, less):
    """Layers to raise and to lower. Two bits less or more change a divergence by about 4 (its square goes with the step)."""
    rise = sorted(range(len(base)), key=lambda i: base[i], reverse=True)
    fall = sorted(range(len(base)), key=lambda i: less[i] - base[i])
    high, low = [], []
    for up in rise:
        if up in low:
            break
        down = next((i for i in fall if i not in high and i not in low and i != up), None)
        if down is None or 0.75 * base[up] <= less[down] - base[down]:
            break
        high.append(up)
        low.append(down)
    return sorted(high), sorted(low)


def main():
    a = arguments()
    n = run(a, "info", "-m", a.model, "--json")["model"]["n_layers"]
    base, less = [], []
    for i in range(n):
        base.append(divergence(a, i, a.base))
        less.append(divergence(a, i, a.less))
        print(f"layer {i}: {a.base} {base[i]:.6f}, {a.less} {less[i]:.6f}", file=sys.stderr)
    high, low = choose(base, less)
    words = [a.base] + [f"layers={','.join(map(str, s))}={m}" for s, m in ((high, a.more), (low, a.less)) if s]
    print(" ".join(words))


if __name__ == "__main__":
    main()
