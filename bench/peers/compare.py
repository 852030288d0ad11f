#!/usr/bin/env python3
"""llama.cpp, ik_llama.cpp and Ingot in one run, by turns: one attention operation, or a whole model.

  compare.py --llama DIR --ik DIR [--ctx 4K,32K,128K] [--heads 32,64] [--threads 1]
  compare.py --llama DIR --ik DIR --model MODEL.gguf [--prefill 512,2048] [--depths 0,8K]

DIR is a checkout that is already built in DIR/build (else: --llama-build, --ik-build): Release, for this processor, with
shared libraries. Only our own two measuring programs are compiled here. Writes OUTPUT.json and OUTPUT.md. README.md
says what is compared and what is not.
"""
import argparse
import itertools
import json
import os
import signal
import sys
import tempfile

sys.dont_write_bytecode = True
import engines  # noqa: E402
import rounds  # noqa: E402
import tables  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(engines.HERE))
MIN_IDLE = 0.9


def count(text):
    n = int(text[:-1]) * 1024 if text[-1:] in ("k", "K") else int(text)
    if n < 0:
        raise ValueError(text)
    return n


def counts(text):
    return [count(x) for x in text.split(",")]


def words(text):
    return text.split(",")


def rotation():
    """MiB that data are rotated over: a quarter more than the largest cache, as Ingot does by itself."""
    folder = "/sys/devices/system/cpu/cpu0/cache"
    sizes = [open(os.path.join(folder, i, "size"), encoding="ascii").read().strip() for i in os.listdir(folder) if i.startswith("index")] if os.path.isdir(folder) else []
    largest = max((int(s[:-1]) // (1024 if s[-1] == "K" else 1) for s in sizes), default=64)
    return largest * 5 // 4 + 1


def arguments():
    a = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    a.add_argument("--llama", metavar="DIR", help="checkout of llama.cpp")
    a.add_argument("--llama-build", metavar="DIR", help="its build directory, if not DIR/build")
    a.add_argument("--ik", metavar="DIR", help="checkout of ik_llama.cpp")
    a.add_argument("--ik-build", metavar="DIR", help="its build directory, if not DIR/build")
    a.add_argument("--program", default=os.path.join(ROOT, "build/ingot"), help="Ingot")
    a.add_argument("--kv", default="f16,int4", help="Ingot's plans")
    a.add_argument("--llama-types", type=words, default="f16,q8_0,q4_0,f16:f16:matmul,q4_0:f16:matmul", help="K[:V[:flash|matmul]],...; matmul: without flash attention")
    a.add_argument("--ik-types", type=words, default="f16,q8_0,q4_0", help="the same for ik_llama.cpp")
    a.add_argument("--threads", type=counts, default="1", help="list")
    a.add_argument("--rounds", type=int, default=3, help="how often everything has its turn")
    a.add_argument("--seconds", type=float, default=0.5, help="of measuring in each turn, about")
    a.add_argument("--clock", choices=("wall", "cpu"), default="wall", help="cpu: time that threads ran, which others on the machine disturb less; one thread only")
    a.add_argument("-o", "--output", default="peers", help="OUTPUT.json and OUTPUT.md are written")
    one = a.add_argument_group("one attention operation")
    one.add_argument("--ctx", type=counts, default="4K,32K", help="list of contexts; 4K is 4096")
    one.add_argument("--heads", type=counts, default="32", help="list")
    one.add_argument("--kv-heads", type=count, default=8)
    one.add_argument("--head-dim", type=count, default=128)
    one.add_argument("--layout", choices=("tokens", "heads"), default="tokens", help="the peers' caches: as they have them, or a head's rows side by side")
    one.add_argument("--rotate-mib", type=count, default=rotation(), help="memory that the data are rotated over")
    whole = a.add_argument_group("a whole model")
    whole.add_argument("-m", "--model", metavar="FILE", help="GGUF; measure it instead of the operation")
    whole.add_argument("--prefill", type=counts, default="512", help="list of prompt lengths; 0: none")
    whole.add_argument("--depths", type=counts, default="0,4K", help="list of contexts to decode behind")
    whole.add_argument("--gen", type=count, default=16, help="tokens of one decoding, of which the first is not counted")
    o = a.parse_args()
    if not o.llama and not o.ik:
        a.error("name a peer: --llama DIR, --ik DIR or both")
    if o.rounds < 1 or o.seconds <= 0 or o.gen < 2 or 0 in o.threads:
        a.error("rounds and threads from 1, seconds above 0, tokens to decode from 2")
    if o.clock == "cpu" and o.threads != [1]:
        a.error("--clock cpu counts the peers' waiting threads as work: one thread only")
    return o


def points_of(o):
    if not o.model:
        return [{"ctx": c, "heads": h, "kv_heads": o.kv_heads, "head_dim": o.head_dim, "threads": t} for h, t, c in itertools.product(o.heads, o.threads, o.ctx)]
    tests = [{"test": "prefill", "n_tokens": n, "depth": 0} for n in o.prefill if n] + [{"test": "decode", "n_tokens": o.gen, "depth": d} for d in o.depths]
    return [{**test, "threads": t} for t in o.threads for test in tests]


def write(o, run, points):
    condensed = rounds.condense(run["rows"], points)
    table = (tables.model if o.model else tables.attn)(condensed, points)
    name = f"{'A whole model' if o.model else 'One decode attention operation'} against other engines"
    with open(o.output + ".json", "w", encoding="utf-8") as f:
        json.dump({**run, "points": points}, f, indent=1)
        f.write("\n")
    with open(o.output + ".md", "w", encoding="utf-8") as f:
        f.write(f"# {name}\n\n{'`' + os.path.basename(o.model) + '`. ' if o.model else ''}{tables.heading(run)}\n\n{table}\n")


def measure(o, work, run, points, all_engines):
    if o.llama:
        all_engines.append(engines.Peer("llama.cpp", o.llama, o.llama_build, work, o.llama_types))
    if o.ik:
        all_engines.append(engines.Peer("ik_llama.cpp", o.ik, o.ik_build, work, o.ik_types))
    ingot = engines.Ingot(o.program, ROOT, o.kv)
    all_engines.append(ingot)
    run["engines"] = {e.name: e.identity() for e in all_engines}
    run["idle_before"] = rounds.idle_share()
    if run["idle_before"] < MIN_IDLE:
        print(f"compare.py: warning: the machine is only {100 * run['idle_before']:.0f} % idle; ratios suffer", file=sys.stderr)

    def keep(row):
        run["rows"].append(row)
        run["machine"] = ingot.machine

    def say(point, r, engine):
        if run["rows"]:
            write(o, {**run, "partial": "still running"}, points)
        print(f"round {r + 1}/{o.rounds} {engine} {point}", file=sys.stderr)

    rounds.turns(all_engines, points, o.rounds, lambda e, point: (e.model if o.model else e.attn)(point, o), keep, say)


def main():
    o = arguments()
    points, all_engines = points_of(o), []
    run = {"what": "model" if o.model else "attn", "model": o.model and os.path.basename(o.model), "rounds": o.rounds, "seconds": o.seconds, "clock": o.clock, "layout": o.layout,
           "rotate_mib": o.rotate_mib, "machine": None, "engines": {}, "idle_before": 1.0, "others_share": None, "partial": None, "rows": []}
    watch = rounds.Others()
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    with tempfile.TemporaryDirectory(prefix="ingot-peers-") as work:
        try:
            measure(o, work, run, points, all_engines)
        except engines.Failed as e:
            run["partial"] = str(e)
        except KeyboardInterrupt:
            run["partial"] = "interrupted"
        for e in all_engines:
            e.close()
    run["others_share"] = watch.share()
    if run["rows"]:
        write(o, run, points)
    if run["partial"]:
        sys.exit(f"compare.py: {run['partial']}{'; what there is stands in ' + o.output + '.md, marked as partial' if run['rows'] else ''}")
    with open(o.output + ".md", encoding="utf-8") as f:
        print(f.read())


if __name__ == "__main__":
    main()
