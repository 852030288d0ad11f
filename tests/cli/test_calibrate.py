"""ingot calibrate, and ingot eval probe, which uses what it makes."""
import os
import resource
import shutil
import signal
import subprocess
import time

import harness
from harness import book, check, done, done_json, path, refused, run, smollm2, tiny


def text(n=1200):
    return path(f"calibrate-{n}.txt", book(n))


def model(name, **options):
    """A copy of a tiny model in a folder of its own, so that nothing lies beside it."""
    folder = path(name)
    os.makedirs(folder, exist_ok=True)
    return shutil.copy(tiny(**options), os.path.join(folder, "tiny.gguf"))


def test_json_and_the_file_beside_the_model():
    m = model("beside")
    refused(1, "run", "-m", m, "-p", "x", "-n", "1", "--kv", "wush4", has=["calibration", "tiny.gguf.ingotcal"])
    r = done_json("calibrate", "-m", m, "-f", text(), "-c", "128", "--windows", "2", "--no-codebooks")
    check(r["file"] == m + ".ingotcal" and r["file_bytes"] == os.path.getsize(r["file"]), r)
    check((r["n_windows"], r["n_ctx"], r["n_layers"], r["n_kv_heads"], r["n_query_heads"]) == (2, 128, 2, 2, 2) and r["whiten"] is True, r)
    p = r["positive_projections"]
    check(p["n_heads"] == 2 and 0 <= p["min"] <= p["mean"] <= 1 and {"min_layer", "min_head"} <= set(p), r)
    check(r["codebooks"] == [] and set(r["seconds"]) == {"model", "derive", "codebooks"}, r)
    check(os.listdir(os.path.dirname(m)) and len(os.listdir(os.path.dirname(m))) == 2, os.listdir(os.path.dirname(m)))
    for kv in ("wush4", "wush3", "turboquant3_5", "int4 policy=qfilters,budget=64"):
        done("run", "-m", m, "-p", "x", "-n", "1", "--kv", kv)  # found by itself
    refused(1, "run", "-m", m, "-p", "x", "-n", "1", "--kv", "vecinfer8", has="pq8")


def test_codebooks():
    m, out = model("books"), path("books.ingotcal")
    few = run("calibrate", "-m", m, "-f", text(), "-c", "256", "--windows", "1", "-o", path("few.ingotcal"))
    check(few.code == 0 and "warning: calibrated on 256 tokens" in few.err and "pq12,group=4 for keys (4032 for 4096)" in few.err and "pq10" not in few.err, few)
    check("pq12,group=8 for values: none, 2016 vectors are too few" in few.out, few)
    refused(1, "run", "-m", m, "-p", "x", "-n", "1", "--kv", "vecinfer12", "--calibration", path("few.ingotcal"), has=["pq12", "nothing"])
    r = done_json("calibrate", "-m", m, "-f", text(), "-c", "512", "--windows", "2", "-q", "-o", out)
    kinds = {(b["codec"], b["bits"], b["group"], b["side"]) for b in r["codebooks"]}
    check(len(kinds) == len(r["codebooks"]) >= 8 and all(b["n"] == 2 and 0 <= b["error"] < 1 for b in r["codebooks"]), r)
    check({("pq8", 8, 4, "k"), ("pq8", 8, 8, "v"), ("pq12", 12, 4, "v"), ("pq12", 12, 8, "k")} <= kinds, r)
    check(not os.path.exists(m + ".ingotcal"), "only where -o says")
    kv = ["eval", "kld", "-m", m, "-f", text(400), "-c", "64", "--windows", "1", "--kv", "vecinfer8", "--kv-window", "0", "--calibration", out]
    check(0 < done_json(*kv)["mean"] < 5, "codebooks can be used")


def test_text_output():
    r = done("calibrate", "-m", model("text"), "-p", book(1200), "-c", "128", "--no-codebooks")
    check("whitening" in r.out and "codebooks" in r.out and "tiny.gguf.ingotcal" in r.out and "right side" in r.out, r)


def test_quiet_is_quiet():
    r = done("calibrate", "-m", model("quiet"), "-p", book(600), "-c", "128", "-q")
    check(not r.out and not r.err, r)
    r = done("calibrate", "-m", model("enough"), "-p", book(4700), "-c", "512", "--windows", "9", "--no-codebooks")
    check(not r.err, r, "no warning where there is text enough")


def test_another_model_and_a_damaged_file_are_refused():
    m, other, out = model("one"), model("other", seed=2), path("one.ingotcal")
    done("calibrate", "-m", m, "-f", text(), "-c", "128", "--no-codebooks", "-o", out)
    args = ["run", "-p", "x", "-n", "1", "--kv", "wush4"]
    done(*args, "-m", m, "--calibration", out)
    refused(1, *args, "-m", other, "--calibration", out, has=["another model", "calibrate-1200.txt"])
    refused(1, "eval", "probe", "-m", other, "-f", text(), "-c", "64", "--kv", "wush4", "--calibration", out, has="another model")
    with open(out, "rb") as f:
        data = f.read()
    for damaged in (b"", data[:20], data[: len(data) // 2], data[:-1], data[:5000] + bytes([data[5000] ^ 1]) + data[5001:]):
        bad = path("damaged.ingotcal", damaged)
        refused(1, *args, "-m", m, "--calibration", bad, has="damaged.ingotcal")


def test_wrong_use():
    m = model("wrong")
    refused(2, "calibrate", "-m", m, "-f", text(), "-c", "-1", has="'-1'")
    refused(2, "calibrate", "-f", text(), has="-m")
    refused(1, "calibrate", "-m", m, "-p", "too short", has=["9", "64"])
    refused(1, "calibrate", "-m", m, "-f", text(), "-c", "512", "--windows", "9", has="4608")
    refused(1, "calibrate", "-m", m, "-f", text(), "--no-codebooks", "-o", path("no/such/folder"), has="no/such")
    check(os.listdir(os.path.dirname(m)) == ["tiny.gguf"], os.listdir(os.path.dirname(m)))


def test_other_files_are_not_overwritten():
    m = model("kept")
    folder = os.path.dirname(m)
    inside = {name: os.path.join(folder, name) for name in ("text", "letter", "pipe", "link", "to-model", "real.ingotcal")}
    path("kept/text", book(1200))
    path("kept/letter", "Dear Ann")
    os.mkfifo(inside["pipe"])
    os.symlink("tiny.gguf", inside["to-model"])
    os.symlink("real.ingotcal", inside["link"])
    args = ["calibrate", "-m", m, "-f", inside["text"], "-c", "128", "--windows", "1", "--no-codebooks", "-o"]
    with open(m, "rb") as f:
        weights = f.read()
    for name, reason in (("tiny.gguf", "is the model"), ("to-model", "is the model"), ("text", "is the text"), ("letter", "no calibration"), ("pipe", "no regular file"),
                         ("link", "link"), ("", "no regular file")):
        refused(1, *args, os.path.join(folder, name), has=reason)
    done(*args, inside["real.ingotcal"])
    done(*args, inside["link"])
    check(os.path.islink(inside["link"]) and os.path.islink(inside["to-model"]), "links stay")
    with open(m, "rb") as f, open(inside["letter"], "rb") as letter:
        check(f.read() == weights and letter.read() == b"Dear Ann", "nothing is lost")
    check(sorted(os.listdir(folder)) == sorted(["tiny.gguf", *inside]), os.listdir(folder))


def test_a_file_size_limit_is_an_error():
    m, out = model("limited"), path("limited/x.ingotcal")
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))  # noqa: E731
    p = subprocess.run([harness.program, "calibrate", "-m", m, "-f", text(), "-c", "128", "--no-codebooks", "-o", out], capture_output=True, preexec_fn=limit, timeout=60)
    check(p.returncode == 1 and p.stderr.startswith(b"ingot: ") and b"File too large" in p.stderr, f"{p.returncode} {p.stderr}")
    check(os.listdir(os.path.dirname(m)) == ["tiny.gguf"], os.listdir(os.path.dirname(m)))


def test_ctrl_c_leaves_nothing():
    folder = path("interrupted")
    os.makedirs(folder, exist_ok=True)
    out = os.path.join(folder, "x.ingotcal")
    p = subprocess.Popen([harness.program, "calibrate", "-m", smollm2(), "-f", path("long.txt", book(60000)), "-o", out], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(2)
    p.send_signal(signal.SIGINT)
    stdout, err = p.communicate(timeout=60)
    check(p.returncode == 1 and not stdout and err.startswith(b"ingot: interrupted") and err.count(b"\n") == 1, f"{p.returncode} {stdout} {err}")
    check(os.listdir(folder) == [], os.listdir(folder))


def test_probe():
    m = model("probe")
    args = ["eval", "probe", "-m", m, "-f", text(), "-c", "192", "--kv"]
    plain = done_json(*args, "turboquant4")
    check(len(plain["heads"]) == 2 and [p["name"] for p in plain["policies"]] == ["knorm"], plain)
    check(plain["n_ctx"] == 192 and plain["method"] == "turboquant4", plain)
    keys = {"layer", "head", "sliding", "score_error", "output_error", "output_cosine", "rank_correlation"}
    check(all(set(h) == keys and 0.02 < h["score_error"] < 0.4 and 0 < h["output_error"] < 0.4 for h in plain["heads"]), plain)
    better = done_json(*args, "q8_0")
    check(better["score_error"] < plain["score_error"] / 4 and better["output_error"] < plain["output_error"] / 4, f"{better} {plain}")
    exact = done_json(*args, "turboquant4", "--kv-window", "192")
    check(exact["score_error"] is None and exact["output_error"] < 0.01, exact)
    done("calibrate", "-m", m, "-f", text(), "-c", "128", "--no-codebooks")
    r = done_json(*args, "wush4")
    check({p["name"] for p in r["policies"]} == {"knorm", "qfilters"}, r)
    check(all(-1 <= h["rank_correlation"]["qfilters"] <= 1 for h in r["heads"]), r)
    r = done(*args, "wush4")
    check("qfilters" in r.out and "mean" in r.out and "positive" in r.out, r)
    refused(1, "eval", "probe", "-m", m, "-p", "short", has=["5", "1024"])
