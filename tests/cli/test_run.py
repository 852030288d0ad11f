"""ingot run: the answer, its options, and what --json reports."""
from harness import book, check, done, done_json, environment_of, gemma, methods, path, run, smollm2, tiny

KEYS = {"text": str, "tokens": list, "n_prompt": int, "n_generated": int, "prefill_tok_s": float, "decode_tok_s": float, "kv": dict, "peak_rss_bytes": int}
KV_KEYS = {"method": str, "resident_bytes": int, "f16_bytes": int, "bits_per_element": float, "n_tokens": int}


def answer(*args, model=None, **kwargs):
    return done_json("run", "-m", model or tiny(), *args, **kwargs)


def test_json_keys():
    r = answer("-p", "hello", "-n", "8", "--seed", "1")
    for keys, part in ((KEYS, r), (KV_KEYS, r["kv"])):
        for key, kind in keys.items():
            check(isinstance(part.get(key), kind), f"{key} must be {kind.__name__}: {part}")
    check(r["n_prompt"] == 5 and r["n_generated"] == len(r["tokens"]) == 8, r)
    check(r["kv"]["n_tokens"] == 12 and r["peak_rss_bytes"] > 1 << 20 and r["prefill_tok_s"] > 0 and r["decode_tok_s"] > 0, r)
    check(r["stop_reason"] == "length" and r["seed"] == 1, r)


def test_greedy_answer_of_a_real_model():
    r = done("run", "-m", smollm2(), "-p", "The capital of France is", "-n", "2", "--temp", "0")
    check(r.out.startswith(" Paris"), r)
    check("tok/s" in r.err, r, "timings")
    check(not done("run", "-m", smollm2(), "-p", "x", "-n", "1", "-q").err, r, "quiet")


def test_second_architecture_runs():
    r = done("run", "-m", gemma(), "-p", "The capital of France is", "-n", "3", "--temp", "0", "-q")
    check(r.out == " the capital of", r)


def test_no_tokens_wanted():
    r = answer("-p", "hello", "-n", "0")
    check(r["n_generated"] == 0 and r["text"] == "" and r["tokens"] == [] and r["kv"]["n_tokens"] == 5, r)
    check(done("run", "-m", tiny(), "-p", "hello", "-n", "0").out == "", "no text")


def test_stream_equals_json_text():
    for extra in (["--top-k", "0"], ["--temp", "0"], ["--stop", "e", "--stop", "QQQQ"]):
        for seed in range(4):
            args = ["run", "-m", tiny(), "-p", "hello", "-n", "60", "-s", seed, *extra]
            streamed, whole = done(*args), done_json(*args)
            check(streamed.out_bytes == whole["text"].encode(), streamed, f"seed {seed}: {whole['text']!r}")


def test_answers_are_valid_utf8_whatever_the_tokens():
    broken = 0
    for seed in range(5):
        r = done("run", "-m", tiny(), "-p", "hello", "-n", "60", "-s", seed, "--temp", "2", "--top-k", "0")
        r.out_bytes.decode("utf-8")
        broken += "\ufffd" in r.out
    check(broken, "the tiny model was expected to produce bytes that are no UTF-8")


def test_text_is_that_of_the_tokens():
    """The tiny model's tokens are bytes, so the text can be told from the ids."""
    r = answer("-p", "hello", "-n", "60", "-s", "5", "--ignore-eos")
    check(r["text"] == bytes_of(r["tokens"]).decode("utf-8", "replace"), r)


def bytes_of(tokens):
    return bytes(t for t in tokens if t < 256)


def test_same_seed_same_answer():
    a, b, c = (answer("-p", "hello", "-n", "30", "-s", s)["tokens"] for s in (7, 7, 8))
    check(a == b and a != c, f"{a} {b} {c}")
    one, two = (answer("-p", "hello", "-n", "30") for _ in range(2))
    check(one["seed"] != two["seed"], "seeds differ from run to run")
    check(answer("-p", "hello", "-n", "30", "-s", one["seed"])["tokens"] == one["tokens"], "the reported seed gives the answer again")


def test_threads_and_batches_do_not_change_a_greedy_answer():
    base = answer("-p", book(300), "-n", "12", "--temp", "0", "-c", "512")["tokens"]
    for extra in (["-t", "1"], ["-t", "3"], ["-b", "1"], ["-b", "7"], ["-b", "64"]):
        check(answer("-p", book(300), "-n", "12", "--temp", "0", "-c", "512", *extra)["tokens"] == base, f"{extra}")


def test_temperature_zero_is_top_k_one():
    a = answer("-p", "hello", "-n", "20", "--temp", "0")["tokens"]
    check(a == answer("-p", "hello", "-n", "20", "--top-k", "1", "-s", "9")["tokens"], "both are greedy")


def test_repeat_penalty_changes_the_answer():
    a, b = (answer("-p", "hello", "-n", "40", "--temp", "0", "--repeat-penalty", p)["tokens"] for p in ("1", "1.8"))
    check(len(set(b)) > len(set(a)), f"{a} {b}")


def test_stop_strings():
    text = done_json("run", "-m", smollm2(), "-p", "One, two, three,", "-n", "24", "--temp", "0")["text"]
    check("six" in text and "," in text, text)
    for stop in ("six", ", six", "ix", text[3:9], "\u00e9", text[-2:]):
        r = done_json("run", "-m", smollm2(), "-p", "One, two, three,", "-n", "24", "--temp", "0", "--stop", stop)
        check(r["text"] == text.split(stop)[0], f"stop {stop!r}: {r['text']!r} of {text!r}")
        check(r["stop_reason"] == ("stop" if stop in text else "length"), r)


def test_first_of_several_stop_strings_counts():
    args = ["run", "-m", smollm2(), "-p", "One, two, three,", "-n", "24", "--temp", "0"]
    check(done_json(*args, "--stop", "seven", "--stop", "five")["text"] == done_json(*args)["text"].split("five")[0], "five comes first")


def test_empty_stop_string_is_refused():
    check(run("run", "-m", tiny(), "-p", "x", "--stop", "").code == 2, "an empty text stops everything")


def test_model_can_end_its_answer():
    args = ["run", "-m", smollm2(), "--chat", "-p", "Say only: yes", "-n", "60", "--temp", "0"]
    r = done_json(*args)
    check(r["stop_reason"] == "end" and r["n_generated"] < 60, r)
    longer = done_json(*args, "--ignore-eos")
    check(longer["stop_reason"] == "length" and longer["n_generated"] == 60 and longer["tokens"][: len(r["tokens"])] == r["tokens"], longer)


def test_prompt_from_file_and_pipe():
    base = answer("-p", "hello", "-n", "9", "--temp", "0")["tokens"]
    for got in (answer("-f", path("hello.txt", "hello"), "-n", "9", "--temp", "0"), answer("-f", path("line.txt", "hello\n"), "-n", "9", "--temp", "0"),
                answer("-n", "9", "--temp", "0", stdin="hello\n"), answer("-f", "-", "-n", "9", "--temp", "0", stdin="hello")):
        check(got["tokens"] == base, got)


def test_control_tokens_in_the_prompt():
    check(answer("-p", "<|im_end|>", "-n", "0")["n_prompt"] == 10, "plain text")
    check(answer("-p", "<|im_end|>", "-n", "0", "--special")["n_prompt"] == 1, "one token")
    check(answer("--chat", "-p", "<|im_end|>", "-n", "0")["n_prompt"] > 20, "a chat message never becomes control tokens")


def test_chat_prompt_and_system_message():
    plain = answer("--chat", "-p", "hi", "-n", "0")["n_prompt"]
    check(plain > 2, "the format adds tokens")
    check(answer("--chat", "--system", "Be brief", "-p", "hi", "-n", "0")["n_prompt"] > plain, "the system message adds more")
    check(run("run", "-m", tiny(), "--system", "x", "-p", "hi").code == 2, "--system needs --chat")


def test_every_method_runs():
    base = answer("-p", "hello", "-n", "9", "--temp", "0")["n_generated"]
    for m in methods():
        r = answer("-p", "hello", "-n", "9", "--temp", "0", "--kv", m["name"], env=environment_of(m))
        check(r["n_generated"] == base and r["kv"]["method"].startswith(m["name"]), r)
        check(abs(r["kv"]["claimed_bits_per_element"] - m["bits_per_element"]) < 1, r)


def test_resident_bytes_agree_with_the_claim():
    text = path("long.txt", book(5000))
    exact = 0.1 + 16 * 128 / 5000  # bits of what waits to be packed in f16: at most two pages, four for centred keys
    for kv, env in [(m["name"], environment_of(m)) for m in methods()] + [("int4,group=64", {}), ("k=q8_0 v=int4", {})]:
        k = answer("-f", text, "-n", "0", "--kv", kv, "--kv-window", "0", "--kv-sinks", "0", model=tiny(context=8192), env=env)["kv"]
        check(k["n_tokens"] > 4900 and k["f16_bytes"] == k["n_tokens"] * 2 * 64 * 2 * 2, k)
        waits = exact if kv.startswith(("kivi", "qjl", "polarpair")) else 2 * exact if kv.startswith("centered") else 0
        check(0.97 * k["claimed_bits_per_element"] < k["bits_per_element"] < 1.03 * k["claimed_bits_per_element"] + waits, k)


def test_keys_and_values_are_chosen_apart():
    check(answer("-p", "hi", "-n", "0", "--kv-k", "q8_0", "--kv-v", "int4,group=64")["kv"]["method"] == "k=q8_0 v=int4,group=64", "spelling")
    check(answer("-p", "hi", "-n", "0", "--kv", "int4", "--kv-k", "f16")["kv"]["method"] == "k=f16 v=int4", "one side replaced")
    r = answer("-p", "hi", "-n", "0", "--kv", "int4", "--kv-window", "32", "--kv-sinks", "4")["kv"]["method"]
    check("window=32" in r and "sinks=4" in r, r)


def test_reported_method_can_be_given_again():
    spec = answer("-p", "hi", "-n", "0", "--kv-k", "q8_0", "--kv-v", "int4", "--kv-window", "32")["kv"]["method"]
    check(answer("-p", "hi", "-n", "0", "--kv", spec)["kv"]["method"] == spec, spec)


def test_full_context_ends_the_answer():
    r = answer("-p", "hello", "-n", "-1", "-c", "64", "--ignore-eos")
    check(r["stop_reason"] == "context" and r["kv"]["n_tokens"] == 64 and r["n_generated"] == 60, r)
    r = answer("-p", "x" * 64, "-n", "5", "-c", "64", "--ignore-eos")
    check(r["n_generated"] == 1 and r["stop_reason"] == "context", r)


def test_context_beyond_the_training_warns():
    r = done("run", "-m", tiny(), "-p", "hello", "-n", "1", "-c", "1024")
    check("warning" in r.err and "1024" in r.err and "512" in r.err, r)
    r = done("run", "-m", tiny(), "-p", "hello", "-n", "600", "--ignore-eos")
    check("warning" in r.err and "512" in r.err, r)


def test_float_activations_and_reference_device():
    for extra in (["--activations", "float"], ["--device", "ref"], ["--device", "ref", "--kv", "int4"]):
        r = answer("-p", "hello", "-n", "6", "--temp", "0", *extra)
        check(r["n_generated"] == 6, r)
    check(answer("-p", "hello", "-n", "1", "--activations", "float")["activations"] == "float", "reported")
    check(answer("-p", "hello", "-n", "1", "--device", "ref")["device"].startswith("ref"), "reported")


def test_device_and_reference_agree():
    """Float activations and greedy choice: the fast code and the scalar reference give the same tokens."""
    for kv in ("f16", "int4"):
        a, b = (answer("-p", book(200), "-n", "16", "--temp", "0", "--activations", "float", "--kv", kv, "--device", d)["tokens"] for d in ("cpu", "ref"))
        check(a == b, f"{kv}: {a} {b}")
