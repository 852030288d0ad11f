"""ingot eval recall."""
from harness import book, check, done, done_json, path, refused, smollm2, tiny

TASKS = ["copy", "passkey", "needles", "variables"]


def small(*more):
    """A context that holds every task in the byte tokens of the tiny model."""
    return ["eval", "recall", "-m", tiny(), "-c", "900", "--samples", "1", "--depths", "0,50,100", *more]


def test_keys_and_values():
    r = done_json(*small("--kv", "int4"))
    check([x["method"] for x in r["results"]] == ["f16", "int4"] and r["activations"] == "float" and r["seed"] == 1, r)
    for result in r["results"]:
        check(result["n_ctx"] == 900 and list(result["tasks"]) == TASKS, result)
        for name, task in result["tasks"].items():
            cells = task["by_depth"]
            check([c["depth"] for c in cells] == [0, 50, 100] and sum(c["n_answers"] for c in cells) == task["n_answers"], task)
            check(all(0 <= c["accuracy"] <= 1 and c["logprob"] < 0 for c in [task, *cells]), task)
    answers = {name: t["n_answers"] for name, t in r["results"][0]["tasks"].items()}
    check(answers["passkey"] == 3 and answers["needles"] == 3 and answers["variables"] == 3 * 3, answers)
    check(answers["copy"] == (900 - 2) // 2 - 16, answers)  # half of what two line ends leave, without the first 16


def test_the_same_seed_gives_the_same_and_another_does_not():
    args = small("--tasks", "passkey,needles", "--kv", "int4")
    first = done_json(*args)
    check(first == done_json(*args) and first == done_json(*args, "-s", "1"), first)
    other = done_json(*args, "-s", "2")
    check(other["results"][0]["tasks"]["passkey"]["logprob"] != first["results"][0]["tasks"]["passkey"]["logprob"], other)


def test_f16_stands_alone_and_contexts_can_be_several():
    r = done_json("eval", "recall", "-m", tiny(), "-c", "300,400", "--samples", "2", "--tasks", "copy", "--depths", "50")
    check([(x["method"], x["n_ctx"]) for x in r["results"]] == [("f16", 300), ("f16", 400)], r)
    check(r["results"][0]["tasks"]["copy"]["n_answers"] == 2 * ((300 - 2) // 2 - 16), r)


def test_feeding_token_by_token_changes_little():
    args = ["eval", "recall", "-m", tiny(), "-c", "300", "--samples", "1", "--tasks", "copy", "--depths", "50"]
    batch, stream = (done_json(*args, *more)["results"][-1] for more in ([], ["--stream"]))
    check(stream["stream"] and not batch["stream"], stream)
    check(abs(batch["tasks"]["copy"]["logprob"] - stream["tasks"]["copy"]["logprob"]) < 1e-3, f"{batch} {stream}")


def test_text_output():
    r = done(*small("--kv", "int4", "--tasks", "needles,copy"))
    check("needles:" in r.out and "copy:" in r.out and "passkey" not in r.out and "int4" in r.out and "made-up sentences" in r.out and "50 %" in r.out, r)


def test_a_text_fills_the_space():
    text = path("recall.txt", book(3000))
    a, b = done_json(*small("--tasks", "passkey", "-f", text)), done_json(*small("--tasks", "passkey"))
    check(a["filler"] == text and a["results"][0]["tasks"] != b["results"][0]["tasks"], a)
    refused(1, *small("--tasks", "passkey", "-p", "too short"), has=["9 tokens", "needed"])


def test_bad_options():
    for option, bad, has in [("--tasks", "copy,wibble", "'wibble'"), ("--tasks", "", "''"), ("--depths", "50,25", "ascend"), ("--depths", "50,50", "ascend"),
                             ("--depths", "0,101", "'101'"), ("--depths", "-1", "'-1'"), ("--depths", "", "''"), ("--depths", "5%", "'5%'"), ("-c", "1", "'1'"),
                             ("-c", "many", "'many'"), ("-c", "900,", "''"), ("--hops", "9", "'9'"), ("--samples", "0", "'0'"), ("-s", "-1", "'-1'"),
                             ("--depths", ",".join(map(str, range(20))), "16")]:
        refused(2, *small(), option, bad, has=has)
    refused(2, *small(), "--windows", "3", has="--windows")
    refused(1, "eval", "recall", "-m", tiny(), "-c", "60", has=["60 tokens", "too short"])


def test_a_real_model_recalls_and_a_bad_cache_does_so_worse():
    args = ["eval", "recall", "-m", smollm2(), "-c", "320", "--samples", "1", "--depths", "0,100", "--tasks", "passkey,copy", "--kv", "int2"]
    good, bad = (r["tasks"] for r in done_json(*args)["results"])
    check(good["passkey"]["accuracy"] == 1 and good["passkey"]["logprob"] > -0.3 and good["copy"]["accuracy"] > 0.75, good)
    check(bad["copy"]["logprob"] < good["copy"]["logprob"] - 0.3 and bad["passkey"]["logprob"] < good["passkey"]["logprob"], f"{good} {bad}")
