"""bench/peers/compare.py without peers: turns, ratios, tables, and what it says when a peer cannot be had."""
import os
import subprocess
import sys

import harness

FOLDER = os.path.join(harness.ROOT, "bench", "peers")
sys.path.insert(0, FOLDER)
import compare  # noqa: E402
import engines  # noqa: E402
import rounds  # noqa: E402
import tables  # noqa: E402

POINTS = [{"ctx": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "threads": 1}]


class StandIn:
    def __init__(self, name, times):
        self.name, self.times = name, times  # method: one time for each round

    def rows(self, r):
        for method, us in self.times.items():
            read = {"copy_gb_s": 10.0} if self.name == "ingot" else {}
            yield {"engine": self.name, "method": method, "median_us": us[r], "best_us": us[r] - 1, "bytes": 1000000, "error": 0.5, **read}


def taken(stand_ins, n_rounds, stop_after=None):
    """The rows of a run of stand-ins, and the order in which they had their turns."""
    rows, order, seen = [], [], {}

    def measure(engine, point):
        r = seen[engine.name] = seen.get(engine.name, -1) + 1
        return engine.rows(r)

    def say(point, r, name):
        if len(order) == stop_after:
            raise KeyboardInterrupt
        order.append(name)

    try:
        rounds.turns(stand_ins, POINTS, n_rounds, measure, rows.append, say)
    except KeyboardInterrupt:
        pass
    return rows, order


def test_order_moves_on():
    _, order = taken([StandIn("llama.cpp", {"f16": [1, 1, 1]}), StandIn("ik_llama.cpp", {"f16": [1, 1, 1]}), StandIn("ingot", {"f16": [1, 1, 1]})], 3)
    assert order == ["llama.cpp", "ik_llama.cpp", "ingot", "ik_llama.cpp", "ingot", "llama.cpp", "ingot", "llama.cpp", "ik_llama.cpp"], order


def test_ratio_within_rounds():
    """A slow second round hits both: the ratio of medians would be 30 / 10 as well, but not that of rounds 2 and 3."""
    rows, _ = taken([StandIn("llama.cpp", {"q4_0": [20, 300, 30]}), StandIn("ingot", {"int4": [10, 100, 8]})], 3)
    peer, own = rounds.condense(rows, POINTS)
    assert (peer["us"], peer["us_min"], peer["us_max"], own["us"], own["us_best"]) == (30, 20, 300, 10, 7), (peer, own)
    assert rounds.ratio(peer, own) == 3, rounds.ratio(peer, own)


def test_table():
    rows, _ = taken([StandIn("llama.cpp", {"f16": [90, 90], "q4_0": [120, 120]}), StandIn("ingot", {"int4": [30, 30]})], 2)
    text = tables.attn(rounds.condense(rows, POINTS), POINTS)
    for part in ("### 4096 tokens, 32 / 8 heads of 128, 1 thread\n", "Plain read: 10.0 GB/s", "| x llama best | x llama q4_0 |",
                 "| llama.cpp | f16 | 90 | 90..90 | 0.95 | 0.90 | 0.5 |  |  |", "| ingot | int4 | 30 | 30..30 | 0.95 | 0.30 | 0.5 | 3.00 | 4.00 |"):
        assert part in text, text


def test_interrupted_run_has_a_table():
    rows, _ = taken([StandIn("llama.cpp", {"f16": [90, 90]}), StandIn("ingot", {"int4": [30, 30]})], 2, stop_after=1)
    text = tables.attn(rounds.condense(rows, POINTS), POINTS)
    assert "| llama.cpp | f16 | 90 |" in text and "not measured" in text and "ingot" not in text, text


def test_contenders():
    assert [engines.contender(t) for t in ("q4_0", "q8_0:q4_0", "q4_0:f16:matmul")] == [("q4_0", "q4_0", "flash"), ("q8_0", "q4_0", "flash"), ("q4_0", "f16", "matmul")]
    for bad in ("q4_0:f16:fast", "a:b:flash:d"):
        try:
            engines.contender(bad)
        except engines.Failed:
            continue
        raise AssertionError(f"{bad} was taken")


def test_counts():
    assert compare.counts("1,4K,128k") == [1, 4096, 131072]


def refused(*args):
    done = subprocess.run([sys.executable, os.path.join(FOLDER, "compare.py"), *args], capture_output=True, text=True, cwd=harness.folder, timeout=60)
    assert done.returncode and "Traceback" not in done.stderr, (args, done)
    return done.stderr


def test_needs_a_peer():
    assert "name a peer" in refused()


def test_peer_that_is_not_built():
    text = refused("--llama", harness.folder)
    assert "build the peer first" in text and harness.folder in text, text


def test_cpu_clock_is_for_one_thread():
    assert "one thread only" in refused("--llama", harness.folder, "--clock", "cpu", "--threads", "1,2")
