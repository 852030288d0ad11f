#!/usr/bin/env python3
"""Planted faults: shows that the suite can fail.

Copies the tree, builds the tests, and then for each fault of faults.py edits one line of the copy, rebuilds what depends
on it and runs the tests named there: at least one of them must fail. Ends with "N passed, N failed, N skipped".

run.py [-f SUBSTRING]   only the faults whose name contains SUBSTRING
"""
import filecmp
import os
import shutil
import subprocess
import sys
import time

from faults import FAULTS

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
TREE = os.path.join(ROOT, "build-faults/tree")
BUILD = os.path.join(ROOT, "build-faults/build")
COPIED = ("CMakeLists.txt", "cmake", "include", "src", "tests")


def copy_tree():
    """Copies what differs and removes what is gone, so that a second run rebuilds little. Times are not copied: a file is
    as new as its last change in the copy."""
    wanted = set()
    for top in COPIED:
        top = os.path.join(ROOT, top)
        files = [top] if os.path.isfile(top) else [os.path.join(d, f) for d, _, fs in os.walk(top) for f in fs]
        for source in files:
            target = os.path.join(TREE, os.path.relpath(source, ROOT))
            wanted.add(target)
            if os.path.exists(target) and filecmp.cmp(source, target, shallow=False):
                continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(source, target)
    for folder, _, files in os.walk(TREE):
        for file in files:
            path = os.path.join(folder, file)
            if path not in wanted:
                os.remove(path)


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def build():
    """None, or the compiler's output when it failed."""
    done = run(["cmake", "--build", BUILD, "-j", str(os.cpu_count() or 2), "--target", "ingot-tests"])
    return None if done.returncode == 0 else done.stdout


def run_tests(filters):
    """(exit code, names of failed tests)."""
    command = [os.path.join(BUILD, "ingot-tests"), "--timeout", "60"]
    for f in filters:
        command += ["-f", f]
    done = run(command, env={**os.environ, "INGOT_MODELS": os.path.join(ROOT, "models")})
    failed = [line[5:].rsplit(" (", 1)[0] for line in done.stdout.splitlines() if line.startswith("FAIL ")]
    return done.returncode, failed


def try_fault(fault):
    """None when a test saw the fault, else why the check failed."""
    path = os.path.join(TREE, fault["file"])
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if text.count(fault["old"]) != 1:
        return f"the line to edit is in {fault['file']} {text.count(fault['old'])} times, expected once"
    try:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace(fault["old"], fault["new"]))
        output = build()
        if output is not None:
            return "the edited tree does not build:\n" + output[-1500:]
        code, failed = run_tests(fault["tests"])
        return None if code == 1 and failed else "no test saw it"
    finally:
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)


def main(args):
    if args and (len(args) != 2 or args[0] != "-f"):
        sys.exit(__doc__)
    faults = [f for f in FAULTS if not args or args[1] in f["name"]]
    copy_tree()
    configured = run(["cmake", "-S", TREE, "-B", BUILD, "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1", "-DINGOT_TOOLS=OFF"])
    output = configured.stdout if configured.returncode else build()
    if output is not None:
        print(output[-3000:])
        sys.exit("faults: the unedited tree does not build")
    code, failed = run_tests(sorted({t for f in faults for t in f["tests"]}))
    if code:
        sys.exit(f"faults: tests fail without a fault: {', '.join(failed) or 'none ran'}")
    bad = 0
    for fault in faults:
        start = time.monotonic()
        why = try_fault(fault)
        bad += why is not None
        print(f"FAIL fault/{fault['name']}: {why}" if why else f"ok   fault/{fault['name']} ({time.monotonic() - start:.1f} s)", flush=True)
    print(f"{len(faults) - bad} passed, {bad} failed, 0 skipped")
    return 1 if bad or not faults else 0


sys.exit(main(sys.argv[1:]))
