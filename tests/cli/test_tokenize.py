"""ingot tokenize."""
from harness import check, done, done_json, gemma, path, smollm2, tiny


def test_json_and_text_agree():
    j = done_json("tokenize", "-m", smollm2(), "-p", "Hello, world! \u00e9\u4e2d")
    check(set(j) == {"n_tokens", "ids"} and j["n_tokens"] == len(j["ids"]) > 4, j)
    check([int(line) for line in done("tokenize", "-m", smollm2(), "-p", "Hello, world! \u00e9\u4e2d").out.split()] == j["ids"], j)


def test_file_pipe_and_option_agree():
    text = "Line one\nLine two\n\n"
    ids = done_json("tokenize", "-m", smollm2(), "-p", text)["ids"]
    check(done_json("tokenize", "-m", smollm2(), "-f", path("t.txt", text))["ids"] == ids, "file")
    check(done_json("tokenize", "-m", smollm2(), stdin=text)["ids"] == ids, "pipe")


def test_no_line_end_is_dropped():
    check(done_json("tokenize", "-m", tiny(), "-f", path("n.txt", "a\n"))["ids"] == [97, 10], "every byte counts")


def test_control_tokens():
    check(done_json("tokenize", "-m", tiny(), "-p", "<|im_start|>a")["n_tokens"] == 13, "plain text without --special")
    check(done_json("tokenize", "-m", tiny(), "-p", "<|im_start|>a", "--special")["ids"] == [257, 97], "--special")


def test_bos():
    plain = done_json("tokenize", "-m", gemma(), "-p", "hi")["ids"]
    check(done_json("tokenize", "-m", gemma(), "-p", "hi", "--bos")["ids"] == [2, *plain], plain)
    check(done_json("tokenize", "-m", smollm2(), "-p", "hi", "--bos") == done_json("tokenize", "-m", smollm2(), "-p", "hi"), "asks for none")
