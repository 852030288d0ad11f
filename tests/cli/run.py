#!/usr/bin/env python3
"""Tests of the program, from outside. Standard library only.

  tests/cli/run.py [-l] [-f SUBSTRING]... [--program build/ingot]

Every function test_* of the files test_*.py here is a test; -l lists them, -f picks those whose name contains a substring.
The last line is "N passed, N failed, N skipped".
"""
import argparse
import importlib
import os
import sys
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import harness  # noqa: E402


def collect():
    for file in sorted(os.listdir(HERE)):
        if file.startswith("test_") and file.endswith(".py"):
            module = importlib.import_module(file[:-3])
            for name, test in vars(module).items():
                if name.startswith("test_") and callable(test):
                    yield f"cli/{file[5:-3]}/{name[5:]}", test


def run_one(name, test):
    start = time.monotonic()
    try:
        test()
    except harness.Skip as reason:
        print(f"skip {name}: {reason}")
        return "skipped"
    except Exception as e:  # a test that breaks has failed
        text = str(e) if isinstance(e, AssertionError) and str(e) else "".join(traceback.format_exception(type(e), e, e.__traceback__)[-3:])
        where = traceback.extract_tb(e.__traceback__)
        line = next((f for f in reversed(where) if os.path.basename(f.filename).startswith("test_")), where[-1])
        print(f"  {os.path.basename(line.filename)}:{line.lineno}: {line.line}")
        print("".join("  " + part + "\n" for part in text.rstrip().splitlines()), end="")
        print(f"FAIL {name}")
        return "failed"
    print(f"ok   {name} ({time.monotonic() - start:.2f} s)")
    return "passed"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-l", "--list", action="store_true")
    parser.add_argument("-f", "--filter", action="append", default=[])
    parser.add_argument("--program", default=os.environ.get("INGOT_PROGRAM", os.path.join(harness.ROOT, "build", "ingot")))
    options = parser.parse_args()
    harness.program = os.path.abspath(options.program)
    tests = [(n, t) for n, t in collect() if not options.filter or any(f in n for f in options.filter)]
    if options.list:
        print("\n".join(n for n, _ in tests))
        return 0
    if not os.access(harness.program, os.X_OK):
        sys.exit(f"run.py: no program at {harness.program}; build first (make), or give --program")
    sys.stdout.reconfigure(line_buffering=True)
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with harness.scratch():
        for name, test in tests:
            counts[run_one(name, test)] += 1
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
