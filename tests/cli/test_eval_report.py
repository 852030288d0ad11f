"""ingot eval report."""
import json
import os
import signal
import subprocess
import time

import harness
from harness import book, calibration, check, done, done_json, methods, path, refused, run, smollm2, tiny
from test_lists import keys


def small(name, *more):
    """Little text, no recall, no speed; the folder is `name`."""
    return ["eval", "report", "-m", tiny(), "-f", path("report.txt", book(400)), "-o", path(name), "-c", "64", "--windows", "2",
            "--tasks", "none", "--speed-depth", "0", *more]


def read(name):
    with open(os.path.join(path(name), "report.json"), encoding="utf-8") as f:
        return json.load(f)


def markdown(name):
    with open(os.path.join(path(name), "REPORT.md"), encoding="utf-8") as f:
        return f.read()


def rows(report, key="rows"):
    return {r["plan"]: r for r in report[key]}


def test_figures_are_those_of_eval_kld():
    done(*small("figures", "--methods", "f16,int4"))
    got = rows(read("figures"))
    check(list(got) == ["f16", "int4", "int4 window=128 sinks=4"], got)
    want = done_json("eval", "kld", "-m", tiny(), "-f", path("report.txt"), "-c", "64", "--windows", "2", "--kv", "int4")
    have = got["int4"]["contexts"]["64"]
    for key in ("ppl", "ppl_base", "mean", "p99", "p999", "max", "quarters", "top1_agreement", "rms_dp", "mean_dp", "n_tokens"):
        check(have[key] == want[key], f"{key}: {have[key]} {want[key]}")
    check(have["window_means"] == [w["mean"] for w in want["windows"]] and got["f16"]["contexts"]["64"]["mean"] == 0, have)
    check(got["int4"]["claimed_bits"] == 5 and 5 <= have["memory"]["packed_bits_per_element"] == have["memory"]["bits_per_element"] < 5.01, got)  # tables beside one page
    exact = got["int4 window=128 sinks=4"]["contexts"]["64"]["memory"]
    check(exact["exact_bytes"] > 0 and exact["bits_per_element"] >= 16, exact)
    table = [line for line in markdown("figures").splitlines() if line.startswith("| `")]
    check(len(table) == 3 and f"{want['mean']:.5f}" in table[1] and f"{want['ppl']:.3f}" in table[1], table)


def test_everything_is_measured_and_documented():
    r = done(*small("all", "--methods", "int4", "--plan", "k=q8_0 v=int4", "--exact", "0,0", "--budgets", "40", "--tasks", "copy", "--samples", "1", "--speed-depth", "70"))
    report = read("all")
    check(list(rows(report)) == ["int4", "k=q8_0 v=int4"] and "int4: 64 tokens: perplexity" in r.err and not r.out, r)
    for row in report["rows"]:
        check(row["speed"]["depth"] == 70 and row["speed"]["tok_s"] > 0 < row["speed"]["f16_tok_s"], row)
        check(row["recall"]["64"]["tasks"]["copy"]["n_answers"] == 15, row)
    policies = {m["name"] for m in methods("policy")} - {"full"}
    check({b["policy"] for b in report["budgets"]} == policies and all(b["budget"] == 40 for b in report["budgets"]), report["budgets"])
    for b in report["budgets"]:
        check(("skipped" in b) == (b["policy"] == "qfilters") and b["plan"] == f"f16 policy={b['policy']},budget=40", b)
        if "contexts" in b:
            check(b["contexts"]["64"]["mean"] > 0, b)
    text = markdown("all")
    check("copy %" in text and "behind 70" in text and "## Budgets at 64 tokens" in text and "| streaming |" in text and "## Not measured" in text, text)
    with open(os.path.join(harness.ROOT, "docs", "cli.md"), encoding="utf-8") as f:
        page = f.read()
    for key in keys(report) - {"64"} - {"copy"}:
        check(f"`{key}`" in page or f".{key}`" in page, f"report.json has \"{key}\", docs/cli.md does not explain it")


def test_what_is_there_is_not_measured_again():
    done(*small("again", "--methods", "int4", "--exact", "0,0"))
    report = read("again")
    report["rows"][0]["contexts"]["64"]["mean"] = 123.0
    path("again/report.json", json.dumps(report))
    r = done(*small("again", "--methods", "int4,q8_0", "-c", "64,48", "--exact", "0,0"))
    got = rows(read("again"))
    check(got["int4"]["contexts"]["64"]["mean"] == 123 and 0 < got["int4"]["contexts"]["48"]["mean"] < 1, got)
    check(set(got["q8_0"]["contexts"]) == {"48", "64"} and "int4: 64 tokens" not in r.err and "int4: 48 tokens" in r.err, r)
    check("## 48 tokens" in markdown("again") and "123.00000" in markdown("again"), markdown("again"))


def test_two_calibrations_do_not_mix():
    files = []
    for name, text in (("one", book(1100)), ("two", book(2200)[1100:])):
        os.makedirs(path(name), exist_ok=True)
        files.append(path(name + ".ingotcal"))
        done("calibrate", "-m", tiny(), "-f", path(name + "/same.txt", text), "-c", "256", "--windows", "2", "--no-codebooks", "-o", files[-1])
    args = small("two-calibrations", "--methods", "wush4", "--exact", "0,0", "--calibration")
    done(*args, files[0])
    before = read("two-calibrations")
    check(before["calibration"] == "2 windows of 256 tokens of same.txt" and len(before["calibration_checksum"]) == 32, before)
    r = refused(1, *args, files[1], has=["another calibration", "same.txt", before["calibration_checksum"]])
    check(read("two-calibrations") == before, r, "nothing was changed")
    done(*args, files[0])


def test_only_regular_files_are_replaced():
    os.makedirs(path("pipes"))
    os.mkfifo(path("pipes/REPORT.md"))
    refused(1, *small("pipes", "--methods", "int4", "--exact", "0,0"), has=["REPORT.md", "no regular file"])


def test_other_ways_of_measuring_do_not_mix():
    done(*small("mixed", "--methods", "int4", "--exact", "0,0"))
    before = read("mixed")
    for more, what in [(["--windows", "1"], "windows"), (["--activations", "int8"], "activations"), (["-f", path("other.txt", book(500))], "text_fingerprint"),
                       (["-m", tiny(seed=2)], "model_fingerprint"), (["--stream"], "stream")]:
        refused(1, *small("mixed", "--methods", "q8_0", *more), has=["report.json", what])
    check(read("mixed") == before, "a refused run leaves the report alone")


def test_a_plan_without_calibration_is_named_and_measured_when_there_is_one():
    r = done(*small("calibrated", "--methods", "wush4,int4", "--exact", "0,0"))
    row = rows(read("calibrated"))["wush4"]
    check("calibration" in row["skipped"] and "contexts" not in row and "wush4: skipped" in r.err and "`wush4`: " in markdown("calibrated"), r)
    done(*small("calibrated", "--methods", "wush4", "--exact", "0,0"), env=calibration())
    report = read("calibrated")
    check("skipped" not in rows(report)["wush4"] and rows(report)["wush4"]["contexts"]["64"]["mean"] > 0 and report["calibration"], report)
    refused(1, *small("foreign", "--methods", "int4", "-m", tiny(seed=2)), env=calibration(), has="another model")


def test_all_methods_of_the_registry():
    done(*small("registry", "--exact", "16,4", "--windows", "1", "--together", "32"), env=calibration(), timeout=300)
    got = rows(read("registry"))
    names = {r["method"] for r in got.values()}
    check({m["name"] for m in methods()} <= names and "" in names, names)
    for name, row in got.items():
        check("skipped" not in row, row)
        figures = row["contexts"]["64"]
        check(figures["ppl"] > 1 and (figures["mean"] > 0 or name == "f16" or "window=" not in name), row)  # some have a window of their own
    check(len([n for n in got if "window=" in n or "sinks=" in n]) >= 40, list(got))


def test_head_sizes_that_a_method_cannot_do_are_named():
    done(*small("sizes", "--methods", "turboquant2_5,turboquant4", "-m", tiny(head_dim=48), "--exact", "0,0"))
    skipped = {name: row.get("skipped", "") for name, row in rows(read("sizes")).items()}
    check(not skipped["turboquant4"] and "48 elements" in skipped["turboquant2_5"], skipped)


def test_json_prints_the_document():
    check(done_json(*small("json", "--methods", "int4", "-q")) == read("json"), "the same")


def test_bad_options():
    refused(2, *small("bad")[:-6], "--methods", "int4,wibble", has="'wibble'")
    for option, bad, has in [("--methods", "none", "nothing to measure"), ("--exact", "5", "'5'"), ("--exact", "1,2,3", "2"), ("--exact", "a,b", "'a'"), ("--plan", "int4,wibble", "wibble"),
                             ("--budgets", "0", "'0'"), ("--budgets", "64,x", "'x'"), ("-c", "1", "'1'"), ("--together", "65", "'65'"), ("--depths", "9,8", "ascend")]:
        refused(2, *small("bad"), option, bad, has=has)
    refused(2, "eval", "report", "-m", tiny(), "-p", "x", has="-o DIR")
    check(not os.path.exists(path("bad")), "no folder is left behind")


def test_bad_places():
    refused(1, *small("nowhere/deeper"), has=["cannot make", "nowhere"])
    os.makedirs(path("broken"), exist_ok=True)
    path("broken/report.json", "{]")
    refused(1, *small("broken"), has="report.json")
    path("broken/report.json", "[]")
    refused(1, *small("broken"), has="no report")
    refused(1, *small("short", "-c", "640", "-q", "--methods", "f16"), has=["tokens", "1280"])
    check(not os.path.exists(path("short")), "no folder is left behind")


def test_an_interrupt_keeps_what_is_finished():
    args = ["eval", "report", "-m", smollm2(), "-f", path("long.txt", book(9000)), "-o", path("cut"), "-c", "384", "--windows", "1", "--tasks", "none", "--speed-depth", "0",
            "--together", "1", "--exact", "0,0", "--methods"]
    p = subprocess.Popen([harness.program, *args, "f16,q8_0,int8,int4,int3,int2,fp8"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = p.stderr.readline()
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=60)
    check(p.returncode == 1 and first.startswith(b"f16: 384 tokens") and err.splitlines()[-1].startswith(b"ingot: interrupted") and path("cut").encode() in err, f"{first} {err}")
    kept = [n for n, r in rows(read("cut")).items() if "contexts" in r]
    check("f16" in kept and "fp8" not in kept, kept)
    r = done(*args, "f16,q8_0")
    check("f16: 384" not in r.err and rows(read("cut"))["q8_0"]["contexts"]["384"]["mean"] > 0, r)
    start = time.monotonic()
    check(run(*args, "f16,q8_0", "-q").code == 0 and time.monotonic() - start < 20, "nothing is left to do")
