"""ingot bench: what it prints, what it refuses. Times mean nothing here."""
import csv
import io
import json
import os
import signal
import subprocess
import time

import harness
from harness import calibration, check, done, done_json, methods, path, refused, run, tiny

SMALL = ["--reps", "3", "--cold", "0.5", "-q"]
SHAPE = ["--ctx", "200", "--heads", "4", "--kv-heads", "2", "--head-dim", "64"]
ATTN_KEYS = {"method", "n_tokens", "n_heads", "n_kv_heads", "head_dim", "threads", "median_us", "noise_pct", "bytes", "gb_s", "copy_gb_s", "share", "vs_read", "error", "checksum", "partial"}


def test_attn_rows():
    doc = done_json("bench", "attn", "--kv", "f16,int4,group=64,q8_0", "--ctx", "200,1K", "--heads", "4,8", "--kv-heads", "2", "--head-dim", "64", "--threads", "1,2", *SMALL)
    rows = doc["rows"]
    check([r["method"] for r in rows[:3]] == ["f16", "int4,group=64", "q8_0"] and len(rows) == 3 * 2 * 2 * 2, rows)
    check({r["n_tokens"] for r in rows} == {200, 1024} and {r["n_heads"] for r in rows} == {4, 8} and {r["threads"] for r in rows} == {1, 2}, rows)
    for r in rows:
        check(ATTN_KEYS <= set(r), r)
        check(r["median_us"] > 0 and r["bytes"] > 0 and not r["partial"] and r["n_kv_heads"] == 2 and r["head_dim"] == 64 and r["reps"] == 3, r)
        check(abs(r["gb_s"] - 1e-3 * r["bytes"] / r["median_us"]) < 1e-6 * r["gb_s"] and abs(r["share"] - r["gb_s"] / r["copy_gb_s"]) < 1e-6 * r["share"], r)
        check(r["error"] < {"f16": 2e-3, "q8_0": 0.02}.get(r["method"], 0.2), r)
    by = {(r["method"], r["n_tokens"]): r for r in rows}
    check(by["f16", 1024]["bytes"] == 1051 * 2 * 2 * 64 * 2 and by["int4,group=64", 1024]["bytes"] < 0.5 * by["f16", 1024]["bytes"], "1051 tokens of two heads, keys and values")
    machine = doc["machine"]
    check(doc["bench"] == "attn" and not doc["partial"] and {"processor", "cores", "used", "llc_bytes", "memory_bytes", "system", "ingot"} <= set(machine), doc)


def test_attn_takes_whole_plans_and_sides():
    rows = done_json("bench", "attn", "--kv", "k=q8_0 v=int4 window=64,f16", "--kv", "turboquant3", "--kv-v", "f16", *SHAPE, *SMALL)["rows"]
    check([r["method"] for r in rows] == ["k=q8_0 v=int4 window=64", "f16", "turboquant3"], rows)
    check(rows[0]["plan"].startswith("k=q8_0 v=f16") and "window=64" in rows[0]["plan"] and "window=128" in rows[2]["plan"], rows)


def test_every_method_that_needs_no_calibration():
    names = [m["name"] for m in methods() if not m["needs_calibration"]]
    rows = done_json("bench", "attn", "--kv", ",".join(names), "--ctx", "300", "--heads", "2", "--kv-heads", "1", "--head-dim", "128", "--reps", "1", "--cold", "0.1", "-q")["rows"]
    check([r["method"] for r in rows] == names and all(0 < r["error"] < 3 for r in rows), rows)


def test_attention_may_be_fast():
    rows = done_json("bench", "attn", "--kv", "int4,q8_0 attn=fast", *SHAPE, *SMALL)["rows"]
    check([(r["method"], r["attn"]) for r in rows] == [("int4", "precise"), ("q8_0 attn=fast", "fast")], rows)
    rows = done_json("bench", "attn", "--kv", "int4,q8_0", "--attn", "precise,fast", *SHAPE, *SMALL)["rows"]
    check([(r["method"], r["attn"]) for r in rows] == [("int4", "precise"), ("int4", "fast"), ("q8_0", "precise"), ("q8_0", "fast")], rows)
    refused(2, "bench", "attn", "--attn", "slow", *SHAPE, *SMALL, has="slow")


def test_prefill_and_the_kernel_alone():
    rows = done_json("bench", "attn", "--prefill", "32", *SHAPE, *SMALL)["rows"]
    check(all(r["n_queries"] == 32 and r["error"] < 0.2 for r in rows), rows)
    r = done_json("bench", "attn", "--kernel", "--kv", "int4", *SHAPE, *SMALL)["rows"][0]
    check(r["kernel_us"] > 0 and r["vs_kernel"] > 0, r)
    refused(1, "bench", "attn", "--kernel", "--threads", "2", *SHAPE, *SMALL, has="one thread")


def test_table_and_csv():
    r = done("bench", "attn", "--kv", "f16,int4,group=64", *SHAPE, *SMALL)
    lines = r.out.splitlines()
    check(lines[0].startswith("# ") and "ingot" in lines[0] and lines[1].split()[:3] == ["method", "attn", "tokens"] and lines[2].startswith("f16 ") and lines[3].startswith("int4,group=64 "), r)
    rows = list(csv.DictReader(io.StringIO(done("bench", "attn", "--csv", "--kv", "f16,int4,group=64", *SHAPE, *SMALL).out)))
    check([x["method"] for x in rows] == ["f16", "int4,group=64"] and ATTN_KEYS <= set(rows[0]) and float(rows[0]["median_us"]) > 0, rows)
    refused(2, "bench", "attn", "--csv", "--json", has="--csv")


def test_results_of_one_machine_have_one_checksum():
    rows = [done_json("bench", "append", "--kv", "int4", "--tokens", "3", "--threads", t, "--kv-heads", "2", "--head-dim", "64", *SMALL)["rows"][0] for t in (1, 2)]
    check(rows[0]["checksum"] == rows[1]["checksum"] and len(rows[0]["checksum"]) == 16, rows)
    attn = [done_json("bench", "attn", "--kv", "int4", *SHAPE, "--reps", n, "--cold", "0.5", "-q")["rows"][0]["checksum"] for n in (1, 9)]
    check(attn[0] == attn[1], attn)


def test_append_counts_bytes():
    rows = done_json("bench", "append", "--kv", "f16,int4,kivi4", "--tokens", "1,32", "--kv-heads", "2", "--head-dim", "64", *SMALL)["rows"]
    check(len(rows) == 6 and all(r["bytes_in"] == r["n_tokens"] * 2 * 2 * 64 * 4 and r["gb_s"] > 0 and r["copy_gb_s"] > 0 for r in rows), rows)
    check(rows[0]["bytes_out"] == 2 * 2 * 64 * 2 and rows[4]["bytes_out"] == 32 * 2 * 2 * 64 * 5 / 8, rows)


def test_model_and_its_comparison():
    rows = done_json("bench", "model", "-m", tiny(), "--kv", "f16,int4 policy=knorm,budget=64", "--prefill", "20", "--depths", "0,130", "--gen", "4", "--reps", "2", "-q", "-t", "2")["rows"]
    check([(r["test"], r["depth"]) for r in rows] == [("prefill", 0)] * 2 + [("decode", 0)] * 2 + [("decode", 130)] * 2, rows)
    check(all(r["tokens_per_second"] > 0 and r["reps"] == 2 for r in rows) and 0 < rows[5]["kv_bytes"] < rows[4]["kv_bytes"], rows)
    r = done_json("bench", "compare", "f16", "q8_0", "-m", tiny(), "--ctx", "100", "--gen", "4", *SMALL)["rows"][0]
    check(r["a"] == "f16" and r["b"] == "q8_0" and r["gain"] > 0 and r["floor_pct"] >= 0 and r["effect"] in (-1, 0, 1) and r["at_most"] > 0, r)
    check(done_json("bench", "model", "-m", tiny(), "--kv", "wush3", "--prefill", "none", "--depths", "0", "--gen", "2", "--reps", "2", "-q", env=calibration())["rows"], "with a calibration")
    refused(1, "bench", "model", "-m", tiny(), "--kv", "wush3", "--prefill", "2", "--depths", "none", "--reps", "2", "-q", has="calibration")
    refused(2, "bench", "model", has="-m FILE")


def test_a_plan_is_not_faster_than_itself():
    args = ["bench", "compare", "int4", "f16", *SHAPE, "--reps", "15", "--cold", "0.5", "-q"]
    r = done_json(*args, "--share", "40")["rows"][0]
    check(r["verdict"] in ("A is faster", "B is faster", "inside the noise") and r["attention_share"] == 0.4, r)
    gain = r["gain"] if r["effect"] else 1
    check(abs(r["at_most"] - 1 / (0.6 + 0.4 / gain)) < 1e-9 and abs(r["at_most_50"] - 1 / (0.5 + 0.5 / gain)) < 1e-9, r)
    if not r["effect"]:
        check(max(r["gain"], 1 / r["gain"]) <= 1 + 0.01 * max(r["floor_pct"], r["gain_noise_pct"]) + 1e-9, r)
    refused(2, "bench", "compare", "int4", has="two plans")
    refused(2, "bench", "compare", "int4", "f16", "q8_0", has="q8_0")
    refused(2, "bench", "compare", "int4", "nix", has="nix")


def test_copy():
    rows = done_json("bench", "copy", "--threads", "1,2", *SMALL)["rows"]
    check([r["threads"] for r in rows] == [1, 2] and all(r["read_gb_s"] > 0 and r["copy_gb_s"] > 0 for r in rows), rows)


def test_impossible_requests():
    refused(1, "bench", "attn", "--heads", "9", "--kv-heads", "2", *SMALL, has="9 query heads")
    refused(1, "bench", "attn", "--prefill", "300", *SHAPE, *SMALL, has="300 query tokens")
    refused(1, "bench", "attn", "--kv", "turboquant4", "--head-dim", "50", "--ctx", "64", *SMALL, has="50")
    refused(2, "bench", "attn", "--kv", "wush3", *SHAPE, *SMALL, has=["calibration", "ingot bench model"])
    refused(1, "bench", "attn", *SHAPE, "--cold", "1e9", "-q", has=["want", "MiB are available"])
    refused(2, "bench", "attn", "--ctx", "4Q", has="'4Q'")
    refused(2, "bench", "attn", "--ctx", "", has="ctx")
    refused(2, "bench", "attn", "--threads", "0", has="'0'")
    refused(2, "bench", "attn", "--head-dim", "1000", has="'1000'")
    refused(2, "bench", "attn", "--kv", "int5", has="int5")
    refused(2, "bench", has="attn, append, model, compare, copy")
    r = done("bench", "copy", "--threads", "100", "--reps", "1", "--cold", "0.1")
    check("warning: 100 threads on" in r.err, r)


def test_output_goes_to_a_file():
    out = path("bench.json")
    r = done("bench", "copy", "--json", "-o", out, *SMALL)
    with open(out, encoding="utf-8") as f:
        check(json.load(f)["rows"] and not r.out, r)
    before = os.path.getsize(out)
    refused(1, "bench", "attn", "--heads", "9", "--kv-heads", "2", "-o", out, *SMALL, has="9 query heads")
    check(os.path.getsize(out) == before, "a run that fails leaves the file alone")
    r = run("bench", "attn", "--kv", "f16", "--ctx", "100", "--heads", "8,9", "--kv-heads", "2", "--head-dim", "64", "--json", *SMALL)
    doc = json.loads(r.out)
    check(r.code == 1 and doc["partial"] and len(doc["rows"]) == 1 and "9 query heads" in r.err, r, "what was finished is not lost")
    new = path("never.json")
    refused(1, "bench", "attn", "--heads", "9", "--kv-heads", "2", "-o", new, *SMALL, has="9 query heads")
    check(not os.path.exists(new), "nor does it leave an empty one")
    refused(1, "bench", "copy", "-o", path("none") + "/x", *SMALL, has="cannot write")


def interrupted(seconds, *args):
    """The program after Ctrl-C behind some work: exit code, stdout, stderr."""
    p = subprocess.Popen([harness.program, "bench", *args, "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(seconds)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    return harness.Result(args, p.returncode, out, err)


def interrupted_in_the_middle(*args):
    """The same, with more patience where the machine was too slow for a first round."""
    for seconds in (0.7, 3, 10, 30):
        r = interrupted(seconds, *args)
        if "partial" in r.out.replace('"partial": true}\n', ""):
            break
    return r


def test_interrupted_results_are_kept_and_marked():
    r = interrupted_in_the_middle("copy", "--threads", "1", "--cold", "1", "--reps", "1000000", "--json")
    check(r.code == 1 and "interrupted" in r.err and r.err.count("\n") == 1, r)
    doc = json.loads(r.out)
    check(doc["partial"] and len(doc["rows"]) == 1 and doc["rows"][0]["partial"] and doc["rows"][0]["reps"] > 0, r)
    r = interrupted_in_the_middle("attn", "--kv", "int4,f16", "--ctx", "4K", "--cold", "1", "--reps", "1000000")
    rows = [line for line in r.out.splitlines() if line.endswith("partial")]
    check(r.code == 1 and len(rows) == 2 and "# interrupted" in r.out, r)
