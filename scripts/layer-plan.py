#!/usr/bin/env python3
"""Which layers of a model deserve more bits, and which can do with fewer, at the same bits on average.

layer-plan.py -m MODEL -f TEXT [--base wush3] [--more wush4] [--less wush2] [-c 1024] [--windows 1] [--ingot build/ingot]

Measures the KL divergence with one layer at a time packed as --less (all others f16), then raises layers to --more while lowering
as many others to --less, as long as the divergence that this promises falls. Prints the plan for --kv. The text must not be the
one that the result is judged on. Costs one evaluation a layer."""
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


def choose(less):
    """Layers to raise and to lower. A bit more quarters the squared error, and with it the divergence: from --less to --base and from there to --more."""
    order = sorted(range(len(less)), key=lambda i: less[i])
    high, low = [], []
    while len(order) > 1:
        gain, loss = less[order[-1]] * (1 / 4 - 1 / 16), less[order[0]] * (1 - 1 / 4)
        if gain <= loss:
            break
        high.append(order.pop())
        low.append(order.pop(0))
    return sorted(high), sorted(low)


def ranges(layers):
    """[3, 4, 5, 9] as 3-5,9"""
    words = []
    for i in layers:
        if words and words[-1][1] == i - 1:
            words[-1][1] = i
        else:
            words.append([i, i])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in words)


def main():
    a = arguments()
    n = run(a, "info", "-m", a.model, "--json")["model"]["n_layers"]
    less = []
    for i in range(n):
        less.append(divergence(a, i, a.less))
        print(f"layer {i}: {less[i]:.6f}", file=sys.stderr)
    high, low = choose(less)
    words = [a.base] + [f"layers={ranges(s)}={m}" for s, m in ((high, a.more), (low, a.less)) if s]
    print(" ".join(words))


if __name__ == "__main__":
    main()
