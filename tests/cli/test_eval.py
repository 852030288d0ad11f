"""ingot eval ppl and kld."""
import math

from harness import book, check, done, done_json, environment_of, methods, path, refused, smollm2, tiny


def text():
    return path("eval.txt", book(400))


def test_ppl_keys_and_values():
    r = done_json("eval", "ppl", "-m", tiny(), "-f", text(), "-c", "64", "--windows", "3")
    check({"ppl", "n_tokens", "windows"} <= set(r) and len(r["windows"]) == 3, r)
    check(all({"nll_all", "nll_second_half"} <= set(w) for w in r["windows"]), r)
    mean = sum(w["nll_second_half"] for w in r["windows"]) / 3
    check(math.isclose(r["ppl"], math.exp(mean), rel_tol=1e-9), r)
    check(r["activations"] == "float", "eval takes float activations unless told otherwise")


def test_kld_keys_and_values():
    r = done_json("eval", "kld", "-m", tiny(), "-f", text(), "-c", "64", "--windows", "2", "--kv", "int4")
    keys = {"mean", "p99", "p999", "max", "quarters", "top1_agreement", "rms_dp", "mean_dp", "ppl", "ppl_base"}
    check(keys <= set(r) and len(r["windows"]) == 2 and all(keys <= set(w) for w in r["windows"]), r)
    check(0 < r["mean"] < r["p99"] <= r["p999"] and 0 < r["top1_agreement"] <= 1, r)
    check(r["method"] == "int4", r)
    for part in [r, *r["windows"]]:
        check(part["p999"] <= part["max"] and len(part["quarters"]) == 4 and abs(part["mean_dp"]) < part["rms_dp"] < 100, part)
        # 63 positions: quarters of 15, 16, 16 and 16
        check(math.isclose(part["mean"], sum(n * q for n, q in zip((15, 16, 16, 16), part["quarters"])) / 63, rel_tol=1e-9), part)
    check(r["max"] == max(w["max"] for w in r["windows"]), r)


def test_f16_does_not_differ_from_itself():
    r = done_json("eval", "kld", "-m", tiny(), "-f", text(), "-c", "64", "--windows", "2", "--kv", "f16")
    check(abs(r["mean"]) < 1e-9 and r["top1_agreement"] == 1 and r["ppl"] == r["ppl_base"], r)


def test_more_bits_less_divergence():
    mean = {m: done_json("eval", "kld", "-m", tiny(), "-f", text(), "-c", "128", "--windows", "2", "--kv", m)["mean"] for m in ("q8_0", "int4")}
    check(0 < mean["q8_0"] < mean["int4"] / 10, mean)


def test_every_method_can_be_evaluated():
    for m in methods():
        r = done_json("eval", "ppl", "-m", tiny(), "-f", text(), "-c", "64", "--windows", "1", "--kv", m["name"], env=environment_of(m))
        check(r["ppl"] > 1 and r["method"].startswith(m["name"]), r)


def test_exact_window_and_activations_reach_the_evaluation():
    args = ["eval", "kld", "-m", tiny(), "-f", text(), "-c", "64", "--windows", "1", "--kv", "int4"]
    base, window = done_json(*args), done_json(*args, "--kv-window", "64")
    check(window["mean"] < base["mean"] / 100, f"{window['mean']} {base['mean']}")
    args = ["eval", "ppl", "-m", smollm2(), "-f", text(), "-c", "48", "--windows", "1"]
    base, int8 = done_json(*args), done_json(*args, "--activations", "int8")
    check(int8["activations"] == "int8" and int8["ppl"] != base["ppl"] and abs(int8["ppl"] / base["ppl"] - 1) < 0.2, f"{int8} {base}")


def test_figures_that_there_are_not():
    r = done("eval", "kld", "-m", tiny(), "-f", text(), "-c", "2", "--windows", "1", "--kv", "int4")
    check("nan" not in r.out and "by quarter                 -" in r.out, r)
    refused(2, "eval", "kld", "-m", tiny(), "-f", text(), "-c", "9999999999", has=["'9999999999'", "too large", "2147483647"])
    refused(2, "eval", "kld", "-m", tiny(), "-f", text(), "-c", "1", has="whole number of at least 2")


def test_text_output_names_cache_and_activations():
    r = done("eval", "kld", "-m", tiny(), "-f", text(), "-c", "64", "--windows", "1", "--kv", "int4")
    check("int4" in r.out and "float" in r.out and "KL" in r.out, r)
    r = done("eval", "ppl", "-m", tiny(), "-f", text(), "-c", "64", "--windows", "1", "--activations", "int8")
    check("int8" in r.out and "perplexity" in r.out, r)


def test_text_shorter_than_a_window():
    refused(1, "eval", "ppl", "-m", tiny(), "-p", "too short", "-c", "64", has=["9", "64"])
    refused(2, "eval", "ppl", "-m", tiny(), "-p", "too short", "-c", "1", has="'1'")


def test_help_of_every_measure():
    r = done("eval", "--help")
    for word in ("ppl", "kld", "recall", "report"):
        check(f"\n  {word} " in r.out, r)
        h = done("eval", word, "--help")
        check(h.out.startswith(f"Usage: ingot eval {word} -m MODEL") and done("help", "eval", word).out == h.out, h)
    refused(2, "help", "eval", "wibble", has="'wibble'")
    refused(2, "help", "run", "wibble", has="'wibble'")
    refused(2, "eval", has="ppl, kld")


def test_token_by_token_evicts_after_each():
    plain = ["eval", "kld", "-m", tiny(), "-f", text(), "-c", "96", "--windows", "2"]
    args = [*plain, "--kv-policy", "streaming,budget=32", "--kv-sinks", "2"]
    batch, stream, ones = done_json(*args), done_json(*args, "--stream"), done_json(*args, "-b", "1")
    check(stream["stream"] and not batch["stream"], stream)
    check(stream["mean"] > 1.2 * batch["mean"] > 0, f"{batch} {stream}")
    check(math.isclose(stream["mean"], ones["mean"], rel_tol=1e-3) and math.isclose(stream["ppl"], ones["ppl"], rel_tol=1e-3), f"{stream} {ones}")
    batch, stream = done_json(*plain, "--kv", "q8_0"), done_json(*plain, "--kv", "q8_0", "--stream")
    check(math.isclose(batch["mean"], stream["mean"], rel_tol=0.1), f"{batch} {stream}")
