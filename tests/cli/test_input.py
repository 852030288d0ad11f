"""Input that cannot be used: one line names the culprit."""
import os

import harness
from harness import check, done, done_json, methods, path, refused, run, tiny


def test_empty_prompt():
    refused(2, "run", "-m", tiny(), "-p", "", has="empty")
    refused(2, "run", "-m", tiny(), "-f", path("empty.txt", ""), has="empty")
    refused(2, "run", "-m", tiny(), stdin="", has="empty")
    refused(2, "run", "-m", tiny(), stdin="\n", has="empty")


def test_prompt_given_twice():
    refused(2, "run", "-m", tiny(), "-p", "x", "-f", path("x.txt", "x"), has=["-p", "-f"])


def test_prompt_file_missing():
    refused(1, "run", "-m", tiny(), "-f", "/no/such/file", has="/no/such/file")
    refused(1, "tokenize", "-m", tiny(), "-f", harness.folder, has=harness.folder)


def test_invalid_utf8_in_the_prompt():
    for command in (["run", "-n", "1"], ["tokenize"]):
        refused(1, *command, "-m", tiny(), "-f", path("bad.txt", b"good \xff bad"), has="5")
        refused(1, *command, "-m", tiny(), "-f", path("cut.txt", b"good \xe2\x82"), has="5")
    refused(1, "run", "--chat", "-m", tiny(), "-f", path("bad.txt"), has="5")


def test_zero_bytes_in_the_prompt():
    check(done_json("tokenize", "-m", tiny(), "-f", path("zero.txt", b"a\0b"))["n_tokens"] == 3, "a zero byte is a byte")
    refused(1, "run", "--chat", "-m", tiny(), "-f", path("zero.txt"), has="zero byte")


def test_prompt_longer_than_the_context():
    refused(1, "run", "-m", tiny(), "-p", "x" * 100, "-c", "64", has=["100", "64"])
    refused(1, "run", "-m", tiny(context=512), "-p", "x" * 600, has=["600", "512"])


def test_model_file_missing():
    for command in (["run", "-p", "x"], ["chat"], ["info"], ["tokenize", "-p", "x"], ["eval", "ppl", "-p", "x"]):
        refused(1, *command, "-m", "/no/such/model.gguf", has="/no/such/model.gguf")


def test_model_is_a_folder():
    refused(1, "info", "-m", harness.folder, has=harness.folder)


def test_model_is_a_web_page():
    page = path("page.gguf", "<!DOCTYPE html>\n<html><head><title>404</title></head><body>not found</body></html>\n" * 20)
    for command in (["run", "-p", "x"], ["info"], ["chat"]):
        refused(1, *command, "-m", page, has=[page, "HTML"])


def test_model_is_something_else():
    refused(1, "info", "-m", path("empty.gguf", ""), has="empty.gguf")
    refused(1, "info", "-m", path("short.gguf", "GG"), has="short.gguf")
    refused(1, "info", "-m", path("zip.gguf", b"PK\3\4" + b"\0" * 200), has="zip.gguf")
    refused(1, "info", "-m", "/dev/null", has="/dev/null")


def test_unknown_cache_method_lists_the_valid_ones():
    names = [m["name"] for m in methods()]
    for option in ("--kv", "--kv-k", "--kv-v"):
        refused(2, "run", "-m", tiny(), "-p", "x", option, "int99", has=["int99", *names])
    refused(2, "chat", "-m", tiny(), "--kv", "int99", has=names)
    refused(2, "eval", "ppl", "-m", tiny(), "--kv", "int99", has=names)


def test_bad_cache_options():
    refused(2, "run", "-m", tiny(), "-p", "x", "--kv", "int4,group=7", has=["group=7", "32"])
    refused(2, "run", "-m", tiny(), "-p", "x", "--kv", "int4,wibble", has="wibble")
    refused(2, "run", "-m", tiny(), "-p", "x", "--kv", "", has="valid")


def test_head_size_that_a_method_cannot_do():
    odd = tiny(head_dim=44)
    for m in methods():
        if not m["needs_calibration"]:
            refused(1, "run", "-m", odd, "-p", "x", "--kv", m["name"], has=[m["parts"].split(",")[0].split(" ")[0], "44"])
    for row in done_json("info", "-m", odd)["cache"]:
        check(row["computed_bytes"] is None and "44" in row["unsupported"], row)
    done("run", "-m", tiny(head_dim=48), "-p", "x", "-n", "2", "--kv", "int4")


def test_unknown_device_lists_the_valid_ones():
    refused(2, "run", "-m", tiny(), "-p", "x", "--device", "abacus", has=["abacus", "cpu", "ref"])
    refused(2, "info", "--device", "abacus", has="abacus")


def test_bad_environment():
    refused(2, "info", env={"INGOT_CPU": "fast"}, has=["INGOT_CPU=fast", "avx2"])
    refused(2, "run", "-m", tiny(), "-p", "x", env={"INGOT_HUGEPAGES": "maybe"}, has="INGOT_HUGEPAGES=maybe")
    done("info", env={"INGOT_CPU": "ref"})


def test_absurd_context():
    r = run("run", "-m", tiny(), "-p", "x", "-n", "1", "-c", "2147483647", "-q")
    check(r.code == 1 and r.err.count("\n") == 1, r, "refused in one line")


def test_unreadable_model():
    if os.geteuid() == 0:
        raise harness.Skip("root may read everything")
    locked = path("locked.gguf", "x")
    os.chmod(locked, 0)
    refused(1, "info", "-m", locked, has="ermission")
