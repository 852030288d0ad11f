"""What the tests share: calling the program, checks with readable failures, a tiny model, the real models."""
import contextlib
import json
import os
import shutil
import subprocess
import tempfile

import tiny_model

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
program = ""  # set by run.py
folder = ""  # scratch, removed at the end
TIMEOUT = 60


class Skip(Exception):
    pass


@contextlib.contextmanager
def scratch():
    global folder
    folder = tempfile.mkdtemp(prefix="ingot-cli-")
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def path(name, data=None):
    """A path in the scratch folder; with data (str or bytes) the file is written."""
    full = os.path.join(folder, name)
    if data is not None:
        with open(full, "wb") as f:
            f.write(data if isinstance(data, bytes) else data.encode())
    return full


class Result:
    def __init__(self, args, code, out, err):
        self.args, self.code, self.out_bytes, self.err_bytes = args, code, out, err
        self.out, self.err = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")

    def __str__(self):
        return f"ingot {' '.join(map(str, self.args))[:300]}\nexit code {self.code}\nstdout: {self.out[:600]!r}\nstderr: {self.err[:900]!r}"


def run(*args, stdin=b"", env=None, timeout=TIMEOUT, stdout=subprocess.PIPE):
    """Runs the program with `stdin` (bytes or str); never raises for an exit code."""
    stdin = stdin.encode() if isinstance(stdin, str) else stdin
    full = dict(os.environ, **(env or {}))
    done = subprocess.run([program, *map(str, args)], input=stdin, stdout=stdout, stderr=subprocess.PIPE, timeout=timeout, env=full)
    return Result(args, done.returncode, done.stdout or b"", done.stderr)


def check(ok, result, what=""):
    if not ok:
        raise AssertionError(f"{what}\n{result}" if what else str(result))


def done(*args, **kwargs):
    """A call that must succeed."""
    r = run(*args, **kwargs)
    check(r.code == 0, r, "must succeed")
    return r


def done_json(*args, **kwargs):
    """A call with --json that must print exactly one JSON value and nothing else."""
    r = done(*args, "--json", **kwargs)
    try:
        text = r.out_bytes.decode("utf-8")
        return json.loads(text)
    except ValueError as e:
        raise AssertionError(f"not one JSON value in UTF-8: {e}\n{r}")


def refused(code, *args, has=(), **kwargs):
    """A call that must fail with this code and exactly one line on stderr that contains all of `has`."""
    r = run(*args, **kwargs)
    check(r.code == code, r, f"exit code must be {code}")
    check(r.err.startswith("ingot: ") and r.err.count("\n") == 1 and r.err.endswith("\n"), r, "one line 'ingot: ...' on stderr")
    for part in [has] if isinstance(has, str) else has:
        check(part in r.err, r, f"message must contain {part!r}")
    check(not r.out, r, "nothing on stdout")
    return r


def tiny(**options):
    """A small model with random weights; its answers are noise, often no valid UTF-8."""
    name = "tiny" + "".join(f"-{k}-{v}" for k, v in sorted(options.items())) + ".gguf"
    full = os.path.join(folder, name)
    return full if os.path.exists(full) else path(name, tiny_model.build(**options))


def smollm2():
    full = os.path.join(ROOT, "models", "SmolLM2-135M-Instruct.Q4_1.gguf")
    if not os.path.exists(full):
        raise Skip("no model: scripts/get-model.sh smollm2")
    return full


def gemma():
    full = os.path.join(ROOT, "models", "gemma-3-270m-q4_k_m.gguf")
    if not os.path.exists(full):
        raise Skip("no model: scripts/get-model.sh gemma3-270m")
    return full


def book(n):
    with open(os.path.join(ROOT, "tests", "data", "war_and_peace.txt"), encoding="utf-8") as f:
        return f.read(n)


def methods(kind="method"):
    return [m for m in done_json("methods") if m["kind"] == kind]


def calibration():
    """A calibration of the tiny models, which have the same weights, in the form of an environment. Made once."""
    full = os.path.join(folder, "tiny.cal")
    if not os.path.exists(full):
        done("calibrate", "-m", tiny(), "-f", path("calibration.txt", book(1100)), "-c", "512", "--windows", "2", "-o", full, timeout=600)
    return {"INGOT_CALIBRATION": full}


def environment_of(method):
    """What a method of the list needs to run on a tiny model."""
    return calibration() if method["needs_calibration"] else {}
