"""The engines that compare.py runs by turns: each is asked for one short measurement at a time and answers rows."""
import glob
import json
import os
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))


class Failed(Exception):
    """A program that is missing, refused or broke; the text says which and why."""


def run(command, **more):
    try:
        done = subprocess.run(command, capture_output=True, text=True, **more)
    except OSError as e:
        raise Failed(f"{command[0]}: {e.strerror}") from None
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{' '.join(command)}: exit code {done.returncode}{': ' if lines else ''}{' | '.join(lines[-4:])}")
    return done.stdout


def commit_of(folder):
    """Commit and whether the tree differs from it; (None, None) where there is no repository."""
    try:
        return run(["git", "-C", folder, "rev-parse", "HEAD"]).strip(), bool(run(["git", "-C", folder, "status", "--porcelain", "-uno"]).strip())
    except Failed:
        return None, None


def contender(text):
    """K[:V[:flash|matmul]] as (K, V, path); V is K and the path is flash unless given."""
    parts = text.split(":")
    k, v, path = parts + [parts[0], "flash"][len(parts) - 1 :] if len(parts) < 3 else parts[:3]
    if len(parts) > 3 or path not in ("flash", "matmul"):
        raise Failed(f"{text}: K[:V[:flash|matmul]] expected")
    return k, v, path


class Peer:
    """llama.cpp or ik_llama.cpp, built by the user: our two programs are linked to its libraries."""

    def __init__(self, name, source, build, work, types):
        self.name, self.source, self.build = name, os.path.abspath(source), os.path.abspath(build or os.path.join(source, "build"))
        self.labels, self.types = list(types), [contender(t) for t in types]
        self.programs, self.running, self.cells = os.path.join(work, name), {}, None
        if not glob.glob(os.path.join(glob.escape(self.build), "**", "libllama.*"), recursive=True):
            raise Failed(f"{self.build}: no libllama there; build the peer first, with shared libraries")
        run(["cmake", "-S", HERE, "-B", self.programs, f"-DPEER_SOURCE={self.source}", f"-DPEER_BUILD={self.build}"])
        run(["cmake", "--build", self.programs])

    def identity(self):
        commit, changed = commit_of(self.source)
        kept = ("CMAKE_BUILD_TYPE", "CMAKE_C_COMPILER", "CMAKE_C_FLAGS", "GGML_NATIVE", "GGML_OPENMP")
        cache = os.path.join(self.build, "CMakeCache.txt")
        lines = [line.strip() for line in open(cache, encoding="utf-8")] if os.path.exists(cache) else []
        settings = {line.split(":")[0]: line.split("=", 1)[1] for line in lines if line.split(":")[0] in kept}
        return {"commit": commit, "changed": changed, "build": settings}

    def attn(self, cell, o):
        for label, (k, v, path) in zip(self.labels, self.types):
            text = run([os.path.join(self.programs, "peer-attn"), "--ctx", str(cell["ctx"]), "--heads", str(cell["heads"]), "--kv-heads", str(cell["kv_heads"]),
                        "--head-dim", str(cell["head_dim"]), "--threads", str(cell["threads"]), "--types", f"{k}:{v}", "--path", path,
                        "--layout", o.layout, "--rotate-mib", str(o.rotate_mib), "--clock", o.clock, "--budget-ms", str(int(o.seconds * 1000))])
            yield {"engine": self.name, "method": label, **json.loads(text)}

    def model(self, test, o):
        for label, types in zip(self.labels, self.types):
            key = (label, test["threads"])
            if key not in self.running:
                self.running[key] = self._start(types, test["threads"], o)
            yield {"engine": self.name, "method": label, "threads": test["threads"], **self._ask(self.running[key], label, test)}

    def _start(self, types, threads, o):
        k, v, path = types
        return subprocess.Popen([os.path.join(self.programs, "peer-model"), "-m", o.model, "--type-k", k, "--type-v", v, "--flash", str(int(path == "flash")),
                                 "--threads", str(threads), "--clock", o.clock, "--budget-ms", str(int(o.seconds * 1000))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _ask(self, process, label, test):
        request = f"prefill {test['n_tokens']}" if test["test"] == "prefill" else f"decode {test['depth']} {test['n_tokens']}"
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Failed(f"{self.name} {label}: {request}: ended with exit code {process.wait()}")
        return json.loads(line)

    def close(self):
        for process in self.running.values():
            process.stdin.close()
            process.kill()
            process.wait()


class Ingot:
    """All of Ingot's plans in one process, where they run by turns on their own."""

    name = "ingot"

    def __init__(self, program, root, plans):
        self.program, self.root, self.plans = program, root, plans
        self.machine = None

    def identity(self):
        commit, changed = commit_of(self.root)
        return {"commit": commit, "changed": changed, "program": run([self.program, "version"]).strip()}

    def _bench(self, o, threads, *words):
        reply = json.loads(run([self.program, "bench", *words, "--kv", self.plans, "--threads", str(threads), "--min-time", str(o.seconds), "--clock", o.clock, "--json", "-q"]))
        self.machine = reply["machine"]
        for row in reply["rows"]:
            yield {"engine": self.name, **row}

    def attn(self, cell, o):
        return self._bench(o, cell["threads"], "attn", "--ctx", str(cell["ctx"]), "--heads", str(cell["heads"]), "--kv-heads", str(cell["kv_heads"]),
                           "--head-dim", str(cell["head_dim"]), "--cold", str(o.rotate_mib))

    def model(self, test, o):
        prefill = test["test"] == "prefill"
        return self._bench(o, test["threads"], "model", "-m", o.model, "--prefill", str(test["n_tokens"]) if prefill else "none",
                           "--depths", "none" if prefill else str(test["depth"]), "--gen", str(16 if prefill else test["n_tokens"]))

    def close(self):
        pass
