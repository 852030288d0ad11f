#!/usr/bin/env python3
"""Writes the seeds of fuzz_gguf.c into seeds/fuzz_gguf/ beside this script. Standard library only; deterministic."""
import pathlib
import struct

U32, F32, BOOL, STRING, ARRAY, U64 = 4, 6, 7, 8, 9, 10


def text(s):
    return struct.pack("<Q", len(s)) + s.encode()


def key(name, kind, value):
    return text(name) + struct.pack("<I", kind) + value


def array(name, kind, count, values):
    return key(name, ARRAY, struct.pack("<IQ", kind, count) + values)


def tensor(name, dims, kind, offset):
    return text(name) + struct.pack("<I", len(dims)) + struct.pack(f"<{len(dims)}Q", *dims) + struct.pack("<IQ", kind, offset)


def gguf(version, keys, tensors, data, alignment=32):
    head = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(keys)) + b"".join(keys) + b"".join(tensors)
    return head + bytes(-len(head) % alignment if tensors else 0) + data


def seeds():
    keys = [key("general.architecture", STRING, text("llama")), key("u", U32, struct.pack("<I", 7)), key("f", F32, struct.pack("<f", 1.5)),
            key("b", BOOL, b"\1"), array("words", STRING, 2, text("a") + text("bc")), array("scores", F32, 2, struct.pack("<2f", 1, 2)),
            array("flags", BOOL, 3, b"\0\1\1"), array("ids", U64, 1, struct.pack("<Q", 9))]
    yield "keys", gguf(3, keys, [], b"")
    yield "v2", gguf(2, keys[:2], [tensor("t", [8], 0, 0)], bytes(range(32)))
    yield "aligned", gguf(3, [key("general.alignment", U32, struct.pack("<I", 64))], [tensor("a", [1], 0, 0), tensor("b", [1], 0, 64)],
                          bytes(68), 64)
    # One block of every number format.
    sizes = {0: (1, 4), 1: (1, 2), 30: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34), 20: (32, 18), 39: (32, 17),
             10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 23: (256, 136)}
    tensors, data = [], b""
    for kind, (block, size) in sizes.items():
        data += bytes(-len(data) % 32)
        tensors.append(tensor(f"w{kind}", [block, 1], kind, len(data)))
        data += bytes(i * 37 % 256 for i in range(size))
    yield "types", gguf(3, keys[:1], tensors, data)
    yield "page", b"<!doctype html><title>404</title>"
    yield "big-endian", b"GGUF" + struct.pack(">IQQ", 3, 0, 0)


def main():
    out = pathlib.Path(__file__).parent / "seeds" / "fuzz_gguf"
    out.mkdir(parents=True, exist_ok=True)
    for name, data in seeds():
        (out / name).write_bytes(data)


if __name__ == "__main__":
    main()
