#!/usr/bin/env python3
"""Writes the seeds of fuzz_calibration.c into seeds/fuzz_calibration/ beside this script. Standard library only; deterministic.
The target adds size and checksum itself, so the seeds end behind the last array."""
import pathlib
import struct

MEAN, SMOOTH, OUTLIERS, WHITEN, FILTER, CODEBOOK = range(6)


def padded(data, to):
    return data + bytes(-len(data) % to)


def calibration(source, arrays):
    """arrays: ((kind, bits, group, value, layer, head), floats), in order of their keys."""
    table = padded(b"INGOTCAL" + struct.pack("<II16sIIQ", 1, len(arrays), bytes(range(16)), len(source), 0, 0) + source, 8)
    at, rows, data = len(table) + 40 * len(arrays), b"", b""
    start = at
    for key, values in arrays:
        at += -at % 64
        rows += struct.pack("<6IQQ", *key, len(values), at)
        data = data + bytes(at - start - len(data)) + struct.pack(f"<{len(values)}f", *values)
        at += 4 * len(values)
    return table + rows + data


def seeds():
    identity = [float(i == j) for i in range(4) for j in range(4)]
    yield "empty", calibration(b"", [])
    yield "mean", calibration(b"text", [((MEAN, 0, 0, 0, 0, 0), [1, -2, 3.5, 0])])
    yield "all", calibration(b"2 windows of text", [
        ((MEAN, 0, 0, 0, 0, 0), [1, -2, 3.5, 0]),
        ((MEAN, 0, 0, 1, 0, 0), [1, 2]),
        ((SMOOTH, 0, 0, 0, 0, 0), [.5, 1, 2, 4]),
        ((OUTLIERS, 0, 0, 1, 1, 0), [2, 0, 3, 1]),
        ((WHITEN, 0, 0, 0, 2, 0), identity * 2),
        ((FILTER, 0, 0, 0, 0, 1), [.6, .8]),
        ((CODEBOOK, 2, 2, 0, 2, 0), range(8)),
    ])


folder = pathlib.Path(__file__).parent / "seeds" / "fuzz_calibration"
folder.mkdir(parents=True, exist_ok=True)
for name, data in seeds():
    (folder / name).write_bytes(data)
