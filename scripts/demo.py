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
    width = max(len(row[0]) for row in rows)
    print(f"\n{title}")
    for name, *cells in rows:
        print(f"  {name:{width}}  " + "  ".join(f"{cell:>16}" for cell in cells))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-m", "--model", default="models/SmolLM2-135M-Instruct.Q4_1.gguf")
    parser.add_argument("--program", default="build/ingot")
    parser.add_argument("--kv", default="int4", help="the cache to compare with f16 (default: int4)")
    parser.add_argument("--eval-tokens", type=int, default=4096, help="tokens over which the agreement is measured (default: 4096)")
    options = parser.parse_args()
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
    print(f"\nThis took {time.monotonic() - began:.0f} s.")


def compare(options, prompt):
    caches = ["f16", options.kv]
    runs = []
    for kv in caches:
        print(f"==> reading the text and answering with the {kv} cache", flush=True)
        runs.append(ingot(options.program, "run", "-m", options.model, "-f", prompt, "-n", "128", "--temp", "0", "--stop", "\n\n", "--kv", kv))
    n_eval = min(options.eval_tokens, runs[0]["n_prompt"])
    print(f"==> comparing the two caches' predictions over the first {n_eval} tokens", flush=True)
    agreement = ingot(options.program, "eval", "kld", "-m", options.model, "-f", prompt, "-c", str(n_eval), "--windows", "1", "--kv", options.kv)

    print(f"\n{runs[0]['n_prompt']} tokens of War and Peace were read; {len(REGISTER)} keys stand near their beginning, and the text ends with\n"
          f"\"{TITLE} {next(iter(REGISTER))} gate:\". The answers (greedy):")
    first = next(iter(REGISTER))
    for kv, r in zip(caches, runs):
        print(f"  {kv:>5}: " + "; ".join(line.strip() for line in f"{first} gate:{r['text']}".splitlines() if line.strip()))
    scores = [recalled(r["text"]) for r in runs]
    kv = [r["kv"] for r in runs]
    mega = 1024 * 1024
    show(runs[0]["device"], [
        ("cache", *caches),
        ("keys recalled", *(f"{s} of {len(REGISTER)}" for s in scores)),
        ("prefill, tokens/s", *(f"{r['prefill_tok_s']:.1f}" for r in runs)),
        ("decode, tokens/s", *(f"{r['decode_tok_s']:.1f}" for r in runs)),
        ("resident K and V", *(f"{k['resident_bytes'] / mega:.2f} MiB" for k in kv)),
        ("bits per element", *(f"{k['bits_per_element']:.2f}" for k in kv)),
        ("smaller by", *(f"{kv[0]['resident_bytes'] / k['resident_bytes']:.2f} times" for k in kv)),
    ])
    show(f"{options.kv} against f16 over {n_eval} tokens ({agreement['activations']} activations)", [
        ("same most probable token", f"{100 * agreement['top1_agreement']:.2f} %"),
        ("mean KL divergence", f"{agreement['mean']:.5f} nats"),
        ("perplexity, f16 and " + options.kv, f"{agreement['ppl_base']:.3f}", f"{agreement['ppl']:.3f}"),
    ])
    if scores[0] < len(REGISTER) or scores[1] < len(REGISTER) // 2:
        sys.exit("demo: a working cache recalls more than this: something is broken")


if __name__ == "__main__":
    main()
