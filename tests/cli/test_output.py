"""Where the output cannot go: one line on stderr, exit code 1, no signal."""
import os
import subprocess

import harness
from harness import check, path, smollm2, tiny

COMMANDS = {
    "run": lambda: ["run", "-m", tiny(), "-p", "hello", "-n", "50", "--ignore-eos", "-q"],
    "run --json": lambda: ["run", "-m", tiny(), "-p", "hello", "-n", "5", "--json"],
    "methods": lambda: ["methods"],
    "methods --json": lambda: ["methods", "--json"],
    "info": lambda: ["info", "-m", tiny()],
    "tokenize": lambda: ["tokenize", "-m", tiny(), "-p", "hello"],
    "tokenize long": lambda: ["tokenize", "-m", tiny(), "-f", path("long.txt", "x" * 20000)],
    "bench": lambda: ["bench", "copy", "--reps", "2", "--cold", "0.1", "-q"],
    "bench --json": lambda: ["bench", "copy", "--reps", "2", "--cold", "0.1", "-q", "--json"],
    "help": lambda: ["help"],
    "run --help": lambda: ["run", "--help"],
    "version": lambda: ["version"],
    "chat": lambda: ["chat", "-m", tiny(), "-n", "5", "--ignore-eos", "-q"],
}


def call(args, stdout, closed=False):
    return subprocess.run([harness.program, *args], input=b"hi\n", stdout=stdout, stderr=subprocess.PIPE, timeout=60,
                          preexec_fn=(lambda: os.close(1)) if closed else None)


def check_lost(name, done):
    r = harness.Result([name], done.returncode, b"", done.stderr)
    check(r.code == 1, r, "exit code must be 1")
    check(r.err.startswith("ingot: cannot write") and r.err.count("\n") == 1, r, "one line")
    return r


def test_full_disk():
    if not os.path.exists("/dev/full"):
        raise harness.Skip("no /dev/full here")
    for name, args in COMMANDS.items():
        with open("/dev/full", "wb") as full:
            check("No space left" in check_lost(name, call(args(), full)).err, name)


def test_closed_pipe():
    for name, args in COMMANDS.items():
        read, write = os.pipe()
        os.close(read)
        with os.fdopen(write, "wb") as f:
            check("Broken pipe" in check_lost(name, call(args(), f)).err, name)


def test_closed_stdout():
    for name, args in COMMANDS.items():
        check_lost(name, call(args(), None, closed=True))


def test_reader_that_leaves_ends_a_long_answer():
    p = subprocess.Popen([harness.program, "run", "-m", smollm2(), "-p", "Once upon a time", "-n", "4000", "--ignore-eos", "-q"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = p.stdout.read(1)
    p.stdout.close()
    err = p.stderr.read().decode()
    check(first and p.wait(30) == 1 and "Broken pipe" in err, err)
