#!/usr/bin/env python3
"""Prefill and decode of a whole model: Ingot against llama-cpp-python, interleaved in one run.

Needs llama-cpp-python (pip install llama-cpp-python) in the Python that runs this; Ingot is called as a program.
Each round runs every contender once, in turn; the table shows medians and the spread (min..max) over rounds.

  python bench/peers/llama_cpp_python.py -m models/SmolLM2-135M-Instruct.Q4_1.gguf --prompt-tokens 2048 -n 64
"""
import argparse
import ctypes
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Peer:
    """llama.cpp through its C interface, so that no Python work lies between two tokens but the call itself."""

    def __init__(self, model, threads, ctx):
        import llama_cpp

        self.c, self.threads = llama_cpp, threads
        llama_cpp.llama_backend_init()
        self.log = llama_cpp.llama_log_callback(lambda level, text, user: None)
        llama_cpp.llama_log_set(self.log, ctypes.c_void_p(0))
        params = llama_cpp.llama_model_default_params()
        if os.environ.get("PEER_NO_REPACK"):  # a build with AMX crashes in it on some virtual machines
            params.use_extra_bufts = False
        self.model = llama_cpp.llama_model_load_from_file(model.encode(), params)
        self.ctx_size = ctx
        self.system = llama_cpp.llama_print_system_info().decode()

    def run(self, tokens, n_predict, kv_type=1, flash=1):
        c = self.c
        p = c.llama_context_default_params()
        p.n_ctx, p.n_batch, p.n_ubatch = self.ctx_size, 512, 512
        p.n_threads = p.n_threads_batch = self.threads
        p.type_k = p.type_v = kv_type
        if hasattr(p, "flash_attn_type"):
            p.flash_attn_type = flash
        ctx = c.llama_init_from_model(self.model, p)
        vocab = c.llama_model_get_vocab(self.model)
        n_vocab = c.llama_vocab_n_tokens(vocab)

        def feed(ids):
            arr = (c.llama_token * len(ids))(*ids)
            if c.llama_decode(ctx, c.llama_batch_get_one(arr, len(ids))) != 0:
                raise RuntimeError("llama_decode failed")

        import numpy

        t0 = time.perf_counter()
        for i in range(0, len(tokens), 512):
            feed(tokens[i : i + 512])
        c.llama_synchronize(ctx)
        t1 = time.perf_counter()
        for _ in range(n_predict):
            logits = numpy.ctypeslib.as_array(c.llama_get_logits_ith(ctx, -1), shape=(n_vocab,))
            feed([int(logits.argmax())])
        c.llama_synchronize(ctx)
        t2 = time.perf_counter()
        c.llama_free(ctx)
        return len(tokens) / (t1 - t0), n_predict / (t2 - t1)


def ingot(program, model, prompt, n_predict, threads, ctx, kv):
    cmd = [program, "run", "-m", model, "-f", prompt, "-n", str(n_predict), "-c", str(ctx), "-t", str(threads),
           "--temp", "0", "--ignore-eos", "--kv", kv, "--json"]
    done = subprocess.run(cmd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(cmd)}: {done.stderr.strip()}")
    r = json.loads(done.stdout)
    return r["prefill_tok_s"], r["decode_tok_s"], r["n_prompt"]


def main():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    a.add_argument("-m", "--model", required=True)
    a.add_argument("--text", default=os.path.join(ROOT, "tests/data/war_and_peace.txt"))
    a.add_argument("--program", default=os.path.join(ROOT, "build/ingot"))
    a.add_argument("--prompt-tokens", type=int, default=2048)
    a.add_argument("-n", "--n-predict", type=int, default=64)
    a.add_argument("-t", "--threads", type=int, default=len(os.sched_getaffinity(0)))
    a.add_argument("--rounds", type=int, default=3)
    a.add_argument("--kv", default="f16,int4", help="Ingot's cache methods, comma separated")
    a.add_argument("--json", action="store_true")
    o = a.parse_args()

    text = open(o.text, encoding="utf-8").read(o.prompt_tokens * 8)
    ids = json.loads(subprocess.run([o.program, "tokenize", "-m", o.model, "-p", text, "--json"], capture_output=True,
                                    text=True, check=True).stdout)["ids"]
    # Ingot gets text, the peer ids: cut the text so that it has about as many tokens, then give the peer the same ids.
    text = text[: int(len(text) * o.prompt_tokens / len(ids))]
    ids = json.loads(subprocess.run([o.program, "tokenize", "-m", o.model, "-p", text, "--json"], capture_output=True,
                                    text=True, check=True).stdout)["ids"]
    ctx = len(ids) + o.n_predict + 64
    peer = Peer(o.model, o.threads, ctx)
    rows = {}
    with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as f:
        f.write(text)
        f.flush()
        for _ in range(o.rounds):
            rows.setdefault("llama.cpp f16, flash attention", []).append(peer.run(ids, o.n_predict, flash=1))
            rows.setdefault("llama.cpp f16, no flash attention", []).append(peer.run(ids, o.n_predict, flash=0))
            for kv in o.kv.split(","):
                rows.setdefault(f"ingot {kv}", []).append(ingot(o.program, o.model, f.name, o.n_predict, o.threads, ctx, kv)[:2])
    base_p = max(statistics.median(r[0] for r in rows[k]) for k in rows if k.startswith("llama"))
    base_d = max(statistics.median(r[1] for r in rows[k]) for k in rows if k.startswith("llama"))
    out = []
    for name, r in rows.items():
        p, d = [x[0] for x in r], [x[1] for x in r]
        out.append({"name": name, "prefill_tok_s": statistics.median(p), "prefill_range": [min(p), max(p)],
                    "decode_tok_s": statistics.median(d), "decode_range": [min(d), max(d)],
                    "prefill_ratio": statistics.median(p) / base_p, "decode_ratio": statistics.median(d) / base_d})
    if o.json:
        print(json.dumps({"prompt_tokens": len(ids), "threads": o.threads, "rounds": o.rounds, "peer": peer.system, "rows": out}, indent=1))
        return
    print(f"{len(ids)} prompt tokens, {o.n_predict} generated, {o.threads} threads, {o.rounds} rounds; ratios to the peer's best\n{peer.system}")
    for r in out:
        print(f"{r['name']:36s} prefill {r['prefill_tok_s']:8.1f} ({r['prefill_range'][0]:.0f}..{r['prefill_range'][1]:.0f}) {r['prefill_ratio']:5.2f}x"
              f"   decode {r['decode_tok_s']:7.1f} ({r['decode_range'][0]:.0f}..{r['decode_range'][1]:.0f}) {r['decode_ratio']:5.2f}x")


if __name__ == "__main__":
    main()
