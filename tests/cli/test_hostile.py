"""Hostile and broken model files: refused in one line, never a crash, never a long wait."""
import struct

from harness import check, path, refused, run, tiny
from tiny_model import ARRAY, BOOL, F32, I32, STRING, U32, header, pad, pair, string, tensor_info

ARCH = pair("general.architecture", STRING, "llama")


def one_tensor(info, data=b"\0" * 64):
    return pad(header(1, 1) + ARCH + info) + data


FILES = {
    "only the magic": b"GGUF",
    "version 1": header(0, 0, version=1) + b"\0" * 64,
    "version 99": header(0, 0, version=99) + b"\0" * 64,
    "big-endian": b"GGUF" + struct.pack(">IQQ", 3, 0, 0) + b"\0" * 64,
    "no architecture": header(0, 0) + b"\0" * 64,
    "2^63 tensors": header(1 << 63, 1) + ARCH + b"\0" * 64,
    "2^63 pairs": header(0, 1 << 63) + ARCH + b"\0" * 64,
    "key length 2^64-1": header(0, 1) + struct.pack("<Q", (1 << 64) - 1) + b"general.architecture" + b"\0" * 64,
    "key of no length": header(0, 1) + pair("", STRING, "x") + b"\0" * 64,
    "string length 2^63": header(0, 1) + string("general.architecture") + struct.pack("<IQ", STRING, 1 << 63) + b"\0" * 64,
    "array count 2^40": header(0, 1) + string("tokenizer.ggml.tokens") + struct.pack("<IIQ", ARRAY, STRING, 1 << 40) + b"\0" * 64,
    "array of U32 that wraps": header(0, 1) + string("x") + struct.pack("<IIQ", ARRAY, U32, (1 << 62) + 1) + b"\0" * 64,
    "nested array": header(0, 1) + string("x") + struct.pack("<IIQIQ", ARRAY, ARRAY, 1, ARRAY, 1) + b"\0" * 64,
    "value type 77": header(0, 1) + string("x") + struct.pack("<I", 77) + b"\0" * 64,
    "array of type 77": header(0, 1) + string("x") + struct.pack("<IIQ", ARRAY, 77, 1) + b"\0" * 64,
    "architecture as a number": header(0, 1) + pair("general.architecture", U32, 5) + b"\0" * 64,
    "architecture unknown": header(0, 1) + pair("general.architecture", STRING, "frobnicator") + b"\0" * 64,
    "alignment 0": header(0, 2) + ARCH + pair("general.alignment", U32, 0) + b"\0" * 64,
    "alignment 2^31": header(0, 2) + ARCH + pair("general.alignment", U32, 1 << 31) + b"\0" * 64,
    "alignment of the wrong type": header(0, 2) + ARCH + pair("general.alignment", STRING, "32") + b"\0" * 64,
    "key twice": header(0, 2) + ARCH + ARCH + b"\0" * 64,
    "0 dimensions": one_tensor(string("t") + struct.pack("<IIQ", 0, 0, 0)),
    "9 dimensions": one_tensor(tensor_info("t", (1,) * 9, 0)),
    "2^32-1 dimensions": one_tensor(string("t") + struct.pack("<I", 0xFFFFFFFF)),
    "elements wrap": one_tensor(tensor_info("t", (1 << 32, 1 << 32, 2), 0)),
    "bytes wrap": one_tensor(tensor_info("t", (1 << 62,), 0)),
    "dimension 0": one_tensor(tensor_info("t", (0, 4), 0)),
    "tensor type 255": one_tensor(tensor_info("t", (4,), 0, kind=255)),
    "offset past the end": one_tensor(tensor_info("t", (4,), 1 << 40)),
    "offset that wraps": one_tensor(tensor_info("t", (4,), (1 << 64) - 32)),
    "offset off the alignment": one_tensor(tensor_info("t", (4,), 3)),
    "tensor longer than the file": one_tensor(tensor_info("t", (4096,), 0)),
    "tensor name of 2^40 bytes": one_tensor(struct.pack("<Q", 1 << 40)),
    "tensor twice": pad(header(2, 1) + ARCH + tensor_info("t", (4,), 0) + tensor_info("t", (4,), 32)) + b"\0" * 64,
}


def test_made_up_files_are_refused():
    for name, data in FILES.items():
        file = path(name.replace(" ", "-").replace("^", "") + ".gguf", data)
        for command in (["run", "-p", "x", "-n", "1"], ["info"], ["tokenize", "-p", "x"]):
            r = run(*command, "-m", file, timeout=20)
            check(r.code == 1, r, f"{name}: must be refused")
            check(r.err.startswith("ingot: ") and r.err.count("\n") == 1 and len(r.err) > 20, r, f"{name}: one line")
            check(file in r.err, r, f"{name}: names the file")


def test_big_endian_is_called_by_its_name():
    refused(1, "info", "-m", path("big.gguf", FILES["big-endian"]), has="big-endian")


def test_unknown_architecture_is_named():
    refused(1, "run", "-p", "x", "-m", path("arch.gguf", FILES["architecture unknown"]), has="frobnicator")


def tiny_bytes(**options):
    with open(tiny(**options), "rb") as f:
        return f.read()


def test_truncated_models_are_refused():
    whole = tiny_bytes()
    for n in [5, 23, 24, 25, 100, 1000, 3000, 5000, 6000, 8000, len(whole) // 2, len(whole) - 1]:
        refused(1, "run", "-p", "x", "-n", "1", "-m", path("cut.gguf", whole[:n]), has="cut.gguf")


def edited(old, new):
    data = tiny_bytes()
    check(data.count(old) >= 1, f"{old!r} is in the model")
    return data.replace(old, new, 1)


def test_missing_tensor_is_named():
    file = path("missing.gguf", edited(b"blk.1.ffn_up.weight", b"blk.1.ffn_xx.weight"))
    refused(1, "run", "-p", "x", "-n", "1", "-m", file, has="blk.1.ffn_up.weight")


def test_wrong_shapes_and_values_are_refused():
    wrong = {
        "head count 0": (pair("llama.attention.head_count", U32, 1), pair("llama.attention.head_count", U32, 0)),
        "head count 3": (pair("llama.attention.head_count", U32, 1), pair("llama.attention.head_count", U32, 3)),
        "head count 2^31": (pair("llama.attention.head_count", U32, 1), pair("llama.attention.head_count", U32, 1 << 31)),
        "KV heads 0": (pair("llama.attention.head_count_kv", U32, 1), pair("llama.attention.head_count_kv", U32, 0)),
        "layers 0": (pair("llama.block_count", U32, 2), pair("llama.block_count", U32, 0)),
        "layers 2^32-1": (pair("llama.block_count", U32, 2), pair("llama.block_count", U32, 0xFFFFFFFF)),
        "width 63": (pair("llama.embedding_length", U32, 64), pair("llama.embedding_length", U32, 63)),
        "width of the wrong type": (pair("llama.embedding_length", U32, 64), pair("llama.embedding_length", F32, 64.0)),
        "epsilon NaN": (pair("llama.attention.layer_norm_rms_epsilon", F32, 1e-5), pair("llama.attention.layer_norm_rms_epsilon", F32, float("nan"))),
        "token types as a number": (string("tokenizer.ggml.token_type") + struct.pack("<IIQ", ARRAY, I32, 259), string("tokenizer.ggml.token_type") + struct.pack("<IIQ", ARRAY, F32, 259)),
        "end token past the vocabulary": (pair("tokenizer.ggml.eos_token_id", U32, 258), pair("tokenizer.ggml.eos_token_id", U32, 1 << 30)),
        "tokenizer unknown": (pair("tokenizer.ggml.model", STRING, "gpt2"), pair("tokenizer.ggml.model", STRING, "gpt9")),
    }
    for name, (old, new) in wrong.items():
        r = run("run", "-p", "x", "-n", "1", "-m", path("wrong.gguf", edited(old, new)), timeout=20)
        check(r.code == 1 and r.err.startswith("ingot: ") and r.err.count("\n") == 1, r, name)


def test_weights_that_are_not_numbers_are_an_error():
    """The model's last norm, all ones, gets a NaN: the answer would be empty, and is an error instead."""
    file = path("nan.gguf", edited(struct.pack("<64f", *[1.0] * 64), struct.pack("<64f", float("nan"), *[1.0] * 63)))
    for extra in ((), ("--ignore-eos",)):
        refused(1, "run", "-p", "x", "-n", "4", "-q", "-m", file, *extra, has="not finite")


def test_random_damage_never_crashes():
    """One changed byte in the metadata: any outcome but a crash, a hang or several lines."""
    whole = bytearray(tiny_bytes())
    for i in range(60):
        at = (i * 131 + 7) % 7000
        data = bytearray(whole)
        data[at] ^= 1 << (i % 8)
        r = run("run", "-p", "ab", "-n", "1", "-q", "-m", path("damaged.gguf", bytes(data)), timeout=20)
        check(r.code in (0, 1), r, f"byte {at}")
        check(r.code == 0 or (r.err.startswith("ingot: ") and r.err.count("\n") == 1), r, f"byte {at}")


def test_bool_where_a_number_belongs():
    refused(1, "run", "-p", "x", "-m", path("bool.gguf", header(0, 2) + ARCH + pair("llama.block_count", BOOL, True) + b"\0" * 64), has="bool.gguf")
