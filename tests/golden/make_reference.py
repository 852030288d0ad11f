#!/usr/bin/env python3
"""Writes reference_MODEL.txt from a JSON file of float32 reference figures and the token ids of the whole text.

usage: make_reference.py FIGURES.json IDS.int32le OUT.txt

FIGURES.json: "windows" [{ctx, window, nll_all, nll_second_half, positions [{pos, top [[id, logprob]]}]}], "greedy"
[{prompt, prompt_ids, greedy, margin}], "tokenizer" {"wiki.test.raw": {n_tokens, sha256_int32le}}. The figures were computed in
float32 with exact keys and values, independently of any engine. The ids are checked against the hash.

OUT.txt, one record a line:
  tokens N id...                         the first N tokens of the text (no BOS)
  window CTX INDEX NLL_ALL NLL_SECOND_HALF
  top CTX INDEX POS id logprob ...       the ten most probable next tokens after POS
  greedy N_PROMPT id... N id... margin...
"""
import hashlib
import json
import struct
import sys


def main(figures_path, ids_path, out_path):
    with open(figures_path, encoding="utf-8") as f:
        figures = json.load(f)
    with open(ids_path, "rb") as f:
        raw = f.read()
    want = figures["tokenizer"]["wiki.test.raw"]
    if hashlib.sha256(raw).hexdigest() != want["sha256_int32le"]:
        sys.exit("the token ids are not those of the reference")
    ids = struct.unpack(f"<{len(raw) // 4}i", raw)
    need = max((w["window"] + 1) * w["ctx"] for w in figures["windows"])
    with open(out_path, "w", encoding="utf-8") as out:
        print("# float32 reference; made by make_reference.py, which tells the format", file=out)
        print("tokens", need, *ids[:need], file=out)
        for w in figures["windows"]:
            print("window", w["ctx"], w["window"], w["nll_all"], w["nll_second_half"], file=out)
            for p in w.get("positions", []):
                print("top", w["ctx"], w["window"], p["pos"], *(x for pair in p["top"] for x in pair), file=out)
        for g in figures["greedy"]:
            print("greedy", len(g["prompt_ids"]), *g["prompt_ids"], len(g["greedy"]), *g["greedy"], *g["margin"], file=out)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
