"""ingot methods and ingot info."""
import os

from harness import ROOT, book, check, done, done_json, methods, path, refused, smollm2, tiny


def test_methods_json():
    rows = done_json("methods")
    check(isinstance(rows, list) and {r["kind"] for r in rows} == {"method", "codec", "transform", "policy"}, rows)
    for r in rows:
        check(isinstance(r["name"], str) and isinstance(r["bits_per_element"], (int, float)) and r["description"], r)
        check(set(r["sides"]) <= {"k", "v"} and r["sides"] and isinstance(r["needs_calibration"], bool) and isinstance(r["window"], int), r)
        check(bool(r["parts"]) == (r["kind"] == "method") and r["stage"] in ("", "center", "scale", "rotate"), r)
    bits = {r["name"]: r["bits_per_element"] for r in rows if r["kind"] == "method"}
    check(bits["f16"] == 16 and bits["q8_0"] == 8.5 and bits["int4"] <= 5, bits)


def test_methods_text_lists_all():
    r = done("methods")
    for m in done_json("methods"):
        check(f"\n  {m['name']} " in r.out and m["description"].split()[0] in r.out, r, m["name"])


def test_methods_say_what_they_need():
    rows = {(r["kind"], r["name"]): r for r in done_json("methods")}
    needing = {name for (kind, name), r in rows.items() if kind == "method" and r["needs_calibration"]}
    check({"wush3", "vecinfer8", "turboquant2_5"} <= needing and not {"f16", "int4", "turboquant4", "kivi2"} & needing, needing)
    check(rows["codec", "qjl"]["sides"] == ["k"] and rows["transform", "center"]["sides"] == ["k"] and rows["transform", "hadamard"]["sides"] == ["k", "v"], rows)
    check(rows["method", "kivi2"]["window"] == 128 and rows["method", "int4"]["window"] == 0, "exact windows")
    check(rows["policy", "qfilters"]["needs_calibration"] and "budget" in rows["policy", "qfilters"]["options"], rows["policy", "qfilters"])


def test_the_document_of_methods_is_as_committed():
    with open(os.path.join(ROOT, "docs", "methods.md"), encoding="utf-8") as f:
        check(f.read() == done("methods", "--markdown").out, "docs/methods.md is stale: ingot methods --markdown > docs/methods.md")
    refused(2, "methods", "--markdown", "--json", has="--markdown")
    refused(2, "methods", "--markdown", "int4", has="--markdown")


def test_one_method_is_described():
    for m in methods():
        r = done("methods", m["name"])
        check(m["description"] in " ".join(r.out.split()) and f"--kv {m['name']}" in r.out, r)
        check(m["parts"] in r.out and m["source"] in r.out and m["options"] in r.out and m["limits"] in " ".join(r.out.split()), r)
    for kind in ("codec", "transform", "policy"):
        for p in methods(kind):
            check(p["description"] in " ".join(done("methods", p["name"]).out.split()), p)
    check({r["name"] for r in done_json("methods", "int4")} == {"int4"}, "only the one")
    refused(2, "methods", "int99", has="'int99'")


def test_info_without_a_model():
    j = done_json("info")
    check(j["machine"]["threads"] >= 1 and j["machine"]["used"] and "model" not in j, j)
    r = done("info")
    check(j["machine"]["device"] in r.out and "INGOT_CPU" in r.out, r)
    check(done_json("info", env={"INGOT_CPU": "ref"})["machine"]["used"] == "ref", "INGOT_CPU limits it")
    check(done_json("info", "-t", "1")["machine"]["threads"] == 1, "-t")


def test_info_of_a_model():
    j = done_json("info", "-m", smollm2())
    m = j["model"]
    check((m["architecture"], m["n_layers"], m["n_heads"], m["n_kv_heads"], m["k_dim"], m["n_vocab"], m["n_ctx_train"]) == ("llama", 30, 9, 3, 64, 49152, 8192), m)
    sizes = {c["method"]: c["computed_bytes"] for c in j["cache"]}
    check(set(sizes) == {x["name"] for x in methods()} and sizes["f16"] == 30 * 3 * 64 * 2 * 2 * 8192 and sizes["int4"] * 3 < sizes["f16"], sizes)
    half = {c["method"]: c["computed_bytes"] for c in done_json("info", "-m", smollm2(), "-c", "4096")["cache"]}
    check(half["f16"] * 2 == sizes["f16"], half)
    r = done("info", "-m", smollm2())
    check("30" in r.out and "49152" in r.out and "computed" in r.out, r)


def keys(value):
    """All keys of a JSON value, at any depth."""
    if isinstance(value, list):
        return set().union(*map(keys, value))
    return set(value).union(*map(keys, value.values())) if isinstance(value, dict) else set()


def test_every_json_key_is_documented():
    with open(os.path.join(ROOT, "docs", "cli.md"), encoding="utf-8") as f:
        page = f.read()
    text = path("keys.txt", book(200))
    outputs = [["methods"], ["info", "-m", tiny()], ["run", "-m", tiny(), "-p", "x", "-n", "1"], ["tokenize", "-m", tiny(), "-p", "x"],
               *(["eval", what, "-m", tiny(), "-f", text, "-c", "64"] for what in ("ppl", "kld", "probe")),
               ["calibrate", "-m", tiny(), "-f", text, "-c", "64", "-o", path("keys.ingotcal")]]
    for args in outputs:
        for key in keys(done_json(*args)):
            check(f"`{key}`" in page or f".{key}`" in page or f"`{key}." in page or key.startswith("INGOT_"), f"ingot {args[0]} prints \"{key}\", docs/cli.md does not explain it")


def test_info_shows_strange_names_safely():
    r = done("info", "-m", tiny(name="a\x1b[31mb"))
    check("\x1b" not in r.out, r)
