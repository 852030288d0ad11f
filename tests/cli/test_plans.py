"""The cache options of run, chat and eval: plans, policies, layers, calibrations, and what is said when they are wrong."""
import os

from harness import calibration, check, done, done_json, path, refused, run, tiny


def plan(*args, **kwargs):
    """The plan that these options come to, as it is reported."""
    return done_json("run", "-m", tiny(), "-p", "hi", "-n", "2", "--temp", "0", *args, **kwargs)["kv"]["method"]


def wrong(*args, has):
    refused(2, "run", "-m", tiny(), "-p", "x", *args, has=has)


def test_plans_have_one_spelling():
    for args, spelling in [
            (["--kv", "turboquant4,hadamard"], "turboquant4"), (["--kv", "turboquant4,none"], "turboquant4,none"),
            (["--kv-k", "turboquant4,center", "--kv-v", "int4,group=64"], "k=centered4 v=int4,group=64"),
            (["--kv", "kivi2"], "kivi2"), (["--kv", "kivi2", "--kv-window", "0"], "kivi2 window=0"),
            (["--kv", "int4", "--kv-layers", "0=q8_0"], "int4 layers=0=q8_0"), (["--kv", "int4", "--kv-layers", "0=q8_0/f16;1=int4"], "int4 layers=0=q8_0/f16"),
            (["--kv", "int4", "--kv-policy", "full"], "int4")]:
        got = plan(*args)
        check(got == spelling, f"{args}: {got}")
        check(plan("--kv", got) == got, got)


def test_a_policy_keeps_its_budget():
    prompt = "to be or not to be " * 20
    for policy in ("streaming", "knorm", "snapkv", "h2o"):
        r = done_json("run", "-m", tiny(), "-p", prompt, "-n", "4", "--kv", "int4", "--kv-policy", f"{policy},budget=100,recent=8", "--kv-window", "16", "--kv-sinks", "4")
        check(r["kv"]["method"] == f"int4 window=16 sinks=4 policy={policy},budget=100,recent=8", r["kv"])
        full = done_json("run", "-m", tiny(), "-p", prompt, "-n", "4", "--kv", "int4", "--kv-window", "16", "--kv-sinks", "4")
        check(r["kv"]["n_tokens"] == 100 and r["kv"]["n_positions"] > 300 and full["kv"]["n_tokens"] == full["kv"]["n_positions"] > 300, f"{r['kv']} {full['kv']}")
        check(r["kv"]["resident_bytes"] < full["kv"]["resident_bytes"], f"{policy}: {r['kv']}")


def test_a_small_budget_of_centred_keys_is_warned_of():
    args = ["run", "-m", tiny(), "-p", "hi", "-n", "2", "--kv", "centered4", "--kv-policy"]
    r = run(*args, "knorm,budget=200")
    check(r.code == 0 and "warning: a budget of 200 with centred keys" in r.err and "256" in r.err, r)
    check("warning" not in run(*args, "knorm,budget=400").err and "warning" not in run(*args, "knorm,budget=200", "-q").err, "only where it matters")


def test_what_stays_is_said():
    r = run("run", "-m", tiny(), "-p", "to be or not to be " * 9, "-n", "1", "--kv", "f16 policy=streaming,budget=64")
    check("64 tokens (of 17" in r.err, r)
    r = run("run", "-m", tiny(), "-p", "hi", "-n", "1", "--kv", "wush4", env=calibration())
    check(", tables " in r.err, r)


def test_one_format_has_one_name():
    for args, spelling in [(["--kv", "int4,group=256"], "int4,group=64"), (["--kv", "int4,group=32"], "int4"), (["--kv", "int4", "--kv-layers", "0=int4,group=128;1=int4,group=64"], "int4 layers=0-1=int4,group=64"),
                           (["--kv", "k=kivi4 v=kivi4,group=128"], "k=kivi4 v=kivi4,group=64")]:
        got = plan(*args)
        check(got == spelling, f"{args}: {got}")
    text = path("one-name.txt", "to be or not to be " * 20)
    check(done_json("eval", "ppl", "-m", tiny(), "-f", text, "-c", "64", "--kv", "int4,group=256")["method"] == "int4,group=64", "eval")


def test_spaces_and_repetitions():
    check(plan("--kv", "  int4  window=7 ") == "int4 window=7", "spaces do not matter")
    check(plan("--kv", "int4 layers=0=q8_0;1=q4_0") == plan("--kv", "int4", "--kv-layers", "0=q8_0;1=q4_0") == "int4 layers=0=q8_0 layers=1=q4_0", "several layers")
    wrong("--kv", "window=4 int4", has=["\"int4\"", "first word"])
    wrong("--kv", "int4 q8_0", has=["\"q8_0\"", "first word"])
    wrong("--kv", "int4 window=5 window=7", has=["window=7", "given before"])
    wrong("--kv", "k=int4 v=int4 k=q8_0", has=["k=q8_0", "given before"])
    wrong("--kv", "int4 policy=full policy=full", has="given before")


def test_wrong_sides():
    wrong("--kv", "kivi4,group=128", has=["group=128", "kivi4", "keys", "32 or 64"])
    check(plan("--kv-k", "kivi4", "--kv-v", "kivi4,group=64") == "k=kivi4 v=kivi4,group=64", "values take others than keys")
    wrong("--kv", "int4,wibble", has=["\"wibble\"", "group=", "hadamard"])
    wrong("--kv-k", "turboquant4,scale=big", has=["scale=big", "unbiased"])
    wrong("--kv-v", "turboquant4,center", has="center is for keys only")
    wrong("--kv", "turboquant4,haar,whiten", has=["haar and whiten", "exclude"])
    wrong("--kv", "int4 speed=9", has=["speed=9", "layers="])


def test_wrong_policies():
    wrong("--kv-policy", "lru", has=["\"lru\"", "full", "qfilters"])
    wrong("--kv-policy", "full,budget=9", has=["budget=9", "full"])
    wrong("--kv-policy", "knorm", has=["knorm", "budget"])
    wrong("--kv-policy", "knorm,budget=0", has="budget=0")
    wrong("--kv-policy", "knorm,budget=0.5%", has=["0.5%", "1% to 99%"])
    wrong("--kv-policy", "knorm,budget=64,recent=many", has="recent=many")
    wrong("--kv-policy", "knorm,budget=64,size=1", has=["size=1", "recent"])
    wrong("--kv-policy", "", has="full")
    wrong("--kv-policy", "knorm,budget=20", "--kv-window", "16", "--kv-sinks", "4", has=["budget=20", "21"])


def test_wrong_layers():
    wrong("--kv-layers", "0-1", has=["0-1", "q8_0"])
    wrong("--kv-layers", "", has="layers")
    wrong("--kv-layers", "x=q8_0", has="\"x\"")
    wrong("--kv-layers", "3-1=q8_0", has="3 is after 1")
    wrong("--kv-layers", "0=int99", has=["\"int99\"", "int4"])
    wrong("--kv-layers", "0=q8_0/int4,center", has="keys only")
    wrong("--kv-layers", "5000=q8_0", has=["5000", "1023"])
    refused(1, "run", "-m", tiny(), "-p", "x", "--kv-layers", "0,9=q8_0", has=["layers 9-9", "0 to 1"])


def test_exact_windows_of_a_method_can_be_taken_away():
    check(plan("--kv", "kivi4", "--kv-window", "-1") == "kivi4", "-1: what the method says")
    check(plan("--kv", "kivi4", "--kv-window", "7") == "kivi4 window=7", "replaced")


def test_a_missing_calibration_is_named():
    for kv, part in (("wush3", "mean"), ("vecinfer8", "pq8"), ("int4,smooth", "smooth"), ("int4 layers=0=turboquant2_5", "split"), ("int4 policy=qfilters,budget=50%", "qfilters")):
        for command in (["run", "-p", "x"], ["eval", "ppl", "-p", "x" * 99, "-c", "64"], ["chat"]):
            refused(1, *command, "-m", tiny(), "--kv", kv, "-q", has=[f"{kv} needs a calibration of the model (for {part})", "ingot calibrate", "tiny.gguf.ingotcal", "--calibration", "INGOT_CALIBRATION"])


def test_where_a_calibration_is_found():
    made = calibration()["INGOT_CALIBRATION"]
    args = ["run", "-m", tiny(), "-p", "x", "-n", "1", "--kv", "wush3"]
    check(done_json(*args, "--calibration", made)["calibration"] == made, "--calibration")
    check(done_json(*args, env={"INGOT_CALIBRATION": made})["calibration"] == made, "the environment")
    check(done_json(*args, "--calibration", made, env={"INGOT_CALIBRATION": "/no/such"})["calibration"] == made, "--calibration comes first")
    model = path("beside.gguf", open(tiny(), "rb").read())
    beside = path("beside.gguf.ingotcal", open(made, "rb").read())
    args[2] = model
    check(done_json(*args)["calibration"] == beside, "beside the model")
    path("beside.gguf.ingotcal", b"broken")
    refused(1, *args, has="beside.gguf.ingotcal")
    check(done_json("run", "-m", model, "-p", "x", "-n", "1", "--kv", "int4")["calibration"] is None, "not looked for without need")
    check(done_json("run", "-m", tiny(), "-p", "x", "-n", "1", "--kv", "int4", env={"INGOT_CALIBRATION": "/no/such"})["calibration"] is None, "nor in the environment")
    os.remove(beside)


def test_wrong_calibrations():
    good = open(calibration()["INGOT_CALIBRATION"], "rb").read()
    args = ["run", "-m", tiny(), "-p", "x", "--kv", "wush3", "--calibration"]
    refused(1, *args, "/no/such.cal", has="/no/such.cal")
    refused(1, *args, path("empty.cal", b""), has="empty.cal")
    refused(1, *args, path("text.cal", b"hello\n" * 99), has="text.cal")
    refused(1, *args, path("cut.cal", good[:len(good) // 2]), has="cut.cal")
    refused(1, *args, tiny(), has="tiny.gguf")
    spoilt = bytearray(good)
    spoilt[len(good) // 2] ^= 1
    refused(1, *args, path("spoilt.cal", bytes(spoilt)), has="spoilt.cal")
    refused(1, "run", "-m", tiny(head_dim=32), "-p", "x", "--kv", "wush3", env=calibration(), has="calibration")
    refused(1, "run", "-m", tiny(), "-p", "x", "--kv", "int4", "--calibration", "/no/such.cal", has="/no/such.cal")


def test_the_environment_is_listed():
    j = done_json("info")["machine"]["environment"]
    check("INGOT_CALIBRATION" in j and j["INGOT_CALIBRATION"] is None, j)
    check("/any/path" in done("info", env={"INGOT_CALIBRATION": "/any/path"}).out, "any text is allowed")
    check(run("info", env={"INGOT_HUGEPAGES": "maybe"}).code == 2, "others are still checked")
