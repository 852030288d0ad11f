"""ingot chat through a pipe."""
import re

from harness import check, done, done_json, path, refused, run, smollm2, tiny


def held(result):
    """The token counts that /stats printed."""
    return [int(n) for n in re.findall(r"cache .*: (\d+) tokens in .*; room for \d+", result.err)]


def chat(text, *args, model=None):
    return done("chat", "-m", model or tiny(), *args, stdin=text)


def test_answers_a_line():
    r = chat("What is the capital of France?\n", "--temp", "0", "-n", "20", model=smollm2())
    check(len(r.out) > 20 and r.out.endswith("\n") and "> " not in r.out and not r.err, r)


REMEMBER = "My name is Bartholomew. Please remember my name.\nWhat is my name?\n"


def test_remembers():
    r = chat(REMEMBER, "--temp", "0", "-n", "40", model=smollm2())
    check("Bartholomew" in r.out, r)


def test_cache_holds_exactly_the_conversation():
    """The token count is that of the same conversation written out and tokenized in one piece."""
    args = ["--temp", "0", "-n", "12", "--system", "Be brief."]
    r = chat("Hello there\n/stats\nAnd now?\n/stats\n", *args, model=smollm2())
    first, second = held(r)
    one = done_json("run", "-m", smollm2(), "--chat", "-p", "Hello there", *args)
    text = ("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHello there<|im_end|>\n<|im_start|>assistant\n" + one["text"])
    whole = done_json("tokenize", "-m", smollm2(), "-f", path("whole.txt", text), "--special")
    check(first == whole["n_tokens"] or first == one["n_prompt"] + one["n_generated"], r, f"{whole['n_tokens']} {one['n_prompt']} {one['n_generated']}")
    asked = done_json("tokenize", "-m", smollm2(), "-f", path("turn.txt", "<|im_end|>\n<|im_start|>user\nAnd now?<|im_end|>\n<|im_start|>assistant\n"), "--special")["n_tokens"]
    check(first + asked <= second <= first + asked + 12, r)


def test_answer_equals_that_of_run():
    args = ["--temp", "0", "-n", "20"]
    r = chat("Name a colour.\n", *args, "-q", model=smollm2())
    check(r.out == done_json("run", "-m", smollm2(), "--chat", "-p", "Name a colour.", *args)["text"] + "\n", r)


def test_clear_forgets():
    r = chat("hi\n/stats\n/clear\n/stats\nhi\n/stats\n", "-n", "4", "--ignore-eos")
    check(len(held(r)) == 3 and held(r)[1] == 0 and held(r)[0] == held(r)[2] > 0, r)


def test_words():
    r = chat("/help\n/nonsense\n")
    check(all(w in r.err for w in ("/exit", "/clear", "/stats", "unknown word /nonsense")), r)
    check(chat("/exit\nhi\n", "-n", "4").out == "", "nothing after /exit")
    check(len(chat("/etc/fstab is a file\n", "-n", "4", "--ignore-eos", "--temp", "0").out) > 1, "a message may begin with a slash")


def test_lines_that_continue():
    one = chat("a\\\nb\n/stats\n", "-n", "1", "--ignore-eos", "-q")
    two = chat("axb\n/stats\n", "-n", "1", "--ignore-eos", "-q")
    check(held(one) == held(two), one, str(two))


def test_empty_lines_and_missing_line_end():
    check(chat("\n\n\n", "-n", "4").out == "", "empty lines are no messages")
    check(len(chat("hi", "-n", "4", "--ignore-eos").out) > 1, "the last line needs no line end")
    check(chat("", "-n", "4").out == "", "no input")


def test_full_context():
    r = chat("x" * 200 + "\n/stats\nhi\n", "-n", "4", "-c", "128", "--ignore-eos")
    check("context is full" in r.err and "/clear" in r.err and held(r) == [0], r, "a message that does not fit")
    check(len(r.out) > 1, r, "a later one that fits is answered")
    r = chat("hi\nhi\nhi\n", "-c", "64", "--ignore-eos")
    check("is full" in r.err, r, "an answer that reaches the end")


def test_bad_message_does_not_end_the_chat():
    r = chat(b"\xff\xfe\nhi\n".decode("latin-1").encode("latin-1"), "-n", "4", "--ignore-eos")
    check("UTF-8" in r.err and len(r.out) > 1, r)


def test_model_without_chat_format():
    refused(1, "chat", "-m", tiny(chat=False), has=["no chat format", "run"])
    check(run("run", "--chat", "-p", "x", "-m", tiny(chat=False)).code == 1, "run --chat neither")


def test_compressed_cache():
    r = chat(REMEMBER + "/stats\n", "--temp", "0", "-n", "40", "--kv", "int4", "--kv-sinks", "4", "--kv-window", "32", model=smollm2())
    check("Bartholomew" in r.out and "cache int4" in r.err, r)
