#!/usr/bin/env python3
"""Writes wtype_vectors.bin: blocks of every weight format and the floats that the Python package `gguf` decodes them to.

Needs numpy and gguf (0.17 or later). Run it in this directory; the output is deterministic. Record, little-endian:
u32 ggml type, u32 n_bytes, u32 n_elements, the blocks, the floats.
"""
import struct

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T
from gguf.quants import dequantize

# Where the f16 scales of a block lie, so that random bytes there do not make it NaN or huge.
HALVES = {T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q8_0: [0], T.IQ4_NL: [0], T.IQ4_XS: [0],
          T.Q2_K: [80, 82], T.Q3_K: [108], T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.MXFP4: []}
# One each of: ordinary, negative, zero, subnormal half, largest half.
SCALES = np.array([0.0137, -0.25, 0.0, 3e-7, 65504.0], dtype=np.float16)


def floats(rng, kind):
    special = {T.F32: [0.0, -0.0, 1e-40, 3.4e38, np.inf, -np.inf], T.F16: [0.0, -0.0, 6e-8, -3e-5, 65504.0, np.inf, -np.inf],
               T.BF16: [0.0, -0.0, 1e-40, 3.3e38, np.inf, -np.inf]}[kind]
    x = np.concatenate([np.array(special), rng.standard_normal(128 - len(special))]).astype(np.float32)
    if kind == T.F32:
        return x.tobytes()
    if kind == T.F16:
        return x.astype(np.float16).tobytes()
    return (x.view(np.uint32) >> 16).astype(np.uint16).tobytes()


def blocks(rng, kind):
    block, size = GGML_QUANT_SIZES[kind]
    n = 5 if block > 32 else 12
    b = rng.integers(0, 256, (n, size), dtype=np.uint8)
    for at in HALVES[kind]:
        random = (rng.standard_normal(n) * 0.02).astype(np.float16)
        random[:len(SCALES)] = np.roll(SCALES, at)[:n]
        b[:, at:at + 2] = random.view(np.uint8).reshape(n, 2)
    if kind == T.MXFP4:
        b[:, 0] = np.resize([0, 1, 2, 3, 126, 127, 128, 250, 254, 255], n)
    return b.tobytes()


def main():
    rng = np.random.default_rng(20)
    with open("wtype_vectors.bin", "wb") as f:
        for kind in [T.F32, T.F16, T.BF16, *HALVES]:
            raw = blocks(rng, kind) if kind in HALVES else floats(rng, kind)
            with np.errstate(over="ignore"):
                x = dequantize(np.frombuffer(raw, dtype=np.uint8), kind).astype("<f4").ravel()
            assert not np.isnan(x).any(), kind
            f.write(struct.pack("<III", int(kind), len(raw), x.size) + raw + x.tobytes())


if __name__ == "__main__":
    main()
