#!/usr/bin/env python3
"""Reads several thousand tokens of War and Peace with two caches, f16 and a compressed one, and compares them.

The text has a register of eight keys near its beginning and ends where the register begins again: the model must recall
what it read some four thousand tokens before. A small model does this reliably with an exact cache, and a cache that lost
the past cannot. Called by demo.sh; standard library only.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BOOK = "tests/data/war_and_peace.txt"
TITLE = "Register of the gates and their keys:"
REGISTER = {"Amber": 5185, "Birch": 6874, "Cedar": 9684, "Dover": 1475, "Eagle": 8628, "Falcon": 5080, "Granite": 1849, "Harbor": 3569}


def make_prompt(book, before, after):
    """The register after about `before` characters of the book, then about `after` more, then the question."""
    cut = book.index("\n\n", before)
    end = book.index("\n\n", cut + after)
    register = TITLE + "\n" + "".join(f"{gate} gate: {key}\n" for gate, key in REGISTER.items())
    first = next(iter(REGISTER))
    return f"{book[:cut].strip()}\n\n{register}\n{book[cut:end].strip()}\n\n{TITLE}\n{first} gate:"


def recalled(text):
    """How many lines of the register the answer repeats."""
    lines = [line.strip() for line in (next(iter(REGISTER)) + " gate:" + text).splitlines()]
    return sum(f"{gate} gate: {key}" in lines for gate, key in REGISTER.items())


def ingot(program, *args):
    done = subprocess.run([program, *args, "--json", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8")
    if done.returncode:
        sys.exit(f"demo: 'ingot {' '.join(args)}' failed: {done.stderr.strip()}")
    return json.loads(done.stdout)


def show(title, rows):
    name_width = max(len(row[0]) for row in rows)
    widths = [max(len(row[i]) for row in rows) for i in range(1, len(rows[0]))]
    print(f"\n{title}")
    for name, *cells in rows:
        print(f"  {name:{name_width}}  " + "   ".join(f"{cell:>{width}}" for cell, width in zip(cells, widths)))


def compare(options, prompt):
    caches = ["f16", *options.kv]
    runs, agreements = [], []
    for kv in caches:
        print(f"==> reading the text and answering, cache {kv}", flush=True)
        runs.append(ingot(options.program, "run", "-m", options.model, "-f", prompt, "-n", "128", "--temp", "0", "--stop", "\n\n", "--kv", kv))
    n_eval = min(options.eval_tokens, runs[0]["n_prompt"])
    for kv in options.kv:
        print(f"==> comparing predictions with f16 over {n_eval} tokens, cache {kv}", flush=True)
        agreements.append(ingot(options.program, "eval", "kld", "-m", options.model, "-f", prompt, "-c", str(n_eval), "--windows", "1", "--kv", kv))

    first = next(iter(REGISTER))
    print(f"\nThe model read {runs[0]['n_prompt']} tokens of War and Peace. {len(REGISTER)} keys stand near their beginning, and they end with\n"
          f"\"{TITLE} {first} gate:\". Greedy answers:")
    for kv, r in zip(caches, runs):
        print(f"  {kv}: " + "; ".join(line.strip() for line in f"{first} gate:{r['text']}".splitlines() if line.strip()))
    scores = [recalled(r["text"]) for r in runs]
    stores = [r["kv"] for r in runs]
    mega = 1024 * 1024
    show(f"{os.path.basename(options.model)}, {runs[0]['device']}", [
        ("cache", *caches),
        ("keys recalled", *(f"{s} of {len(REGISTER)}" for s in scores)),
        ("prefill, tokens/s", *(f"{r['prefill_tok_s']:.1f}" for r in runs)),
        ("decode, tokens/s", *(f"{r['decode_tok_s']:.1f}" for r in runs)),
        ("resident K and V", *(f"{s['resident_bytes'] / mega:.2f} MiB" for s in stores)),
        ("bits per element", *(f"{s['bits_per_element']:.2f}" for s in stores)),
        ("smaller by", *(f"{stores[0]['resident_bytes'] / s['resident_bytes']:.2f} times" for s in stores)),
    ])
    show(f"Against the f16 cache over {n_eval} tokens ({agreements[0]['activations']} activations)", [
        ("cache", "f16", *options.kv),
        ("same most probable token", "100.00 %", *(f"{100 * a['top1_agreement']:.2f} %" for a in agreements)),
        ("mean KL divergence, nats", "0", *(f"{a['mean']:.5f}" for a in agreements)),
        ("perplexity", f"{agreements[0]['ppl_base']:.3f}", *(f"{a['ppl']:.3f}" for a in agreements)),
    ])
    if scores[0] < len(REGISTER) or scores[-1] < len(REGISTER) - 2:
        sys.exit(f"demo: a working cache recalls all keys (f16) or nearly all ({caches[-1]}): something is broken")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", default="models/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--program", default="build/ingot")
    parser.add_argument("--kv", action="append", help="a cache to compare with f16 (may be given several times; the last one must recall the keys)")
    parser.add_argument("--eval-tokens", type=int, default=4096, help="tokens over which the agreement is measured (default: 4096)")
    options = parser.parse_args()
    options.kv = options.kv or ["int4", "int4 window=128 sinks=4"]
    os.chdir(ROOT)
    began = time.monotonic()
    with open(BOOK, encoding="utf-8") as f:
        prompt = make_prompt(f.read(40000), 3000, 14000)
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8", delete=False) as f:
        f.write(prompt)
    try:
        compare(options, f.name)
    finally:
        os.unlink(f.name)
    print(f"\nThis took {time.monotonic() - began:.0f} s. Exact newest and first tokens (window, sinks) cost little and matter much: see docs/numerics.md.")


if __name__ == "__main__":
    main()
