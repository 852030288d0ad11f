"""Ctrl-C, at a pipe and at a terminal."""
import os
import pty
import select
import signal
import subprocess
import termios
import time

import harness
from harness import book, check, path, smollm2, tiny


class Terminal:
    """The program on a pseudo terminal of its own."""

    def __init__(self, *args):
        self.args, self.seen, self.at = args, b"", 0
        self.master, slave = pty.openpty()
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        env = dict(os.environ, TERM="dumb")
        self.process = subprocess.Popen([harness.program, *args], stdin=slave, stdout=slave, stderr=slave, env=env, preexec_fn=own_terminal)

    def read_until(self, text, seconds=30):
        """Goes on to behind the next `text`."""
        end = time.monotonic() + seconds
        while text.encode() not in self.seen[self.at:]:
            ready = select.select([self.master], [], [], max(0, end - time.monotonic()))[0]
            if not ready:
                raise AssertionError(f"waited {seconds} s for {text!r}; {self}")
            self.seen += os.read(self.master, 4096)
        self.at = self.seen.index(text.encode(), self.at) + len(text)

    def read_some(self):
        start = len(self.seen)
        while len(self.seen) == start:
            if not select.select([self.master], [], [], 30)[0]:
                raise AssertionError(f"no output; {self}")
            self.seen += os.read(self.master, 4096)

    def write(self, text):
        os.write(self.master, text.encode())

    def wait(self, seconds=30):
        """The exit code; reads on, so that the program cannot wait for its reader."""
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            if select.select([self.master], [], [], 0.05)[0]:
                self.seen += os.read(self.master, 4096)
        check(self.process.poll() is not None, str(self), "did not end")
        return self.process.returncode

    def same_terminal(self):
        return termios.tcgetattr(self.slave) == self.before

    def __str__(self):
        return f"ingot {' '.join(self.args)}: {self.seen[-900:].decode('utf-8', 'replace')!r}"

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def own_terminal():
    os.setsid()
    import fcntl
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


LONG = ["-n", "4000", "--ignore-eos"]


def start(*args):
    return subprocess.Popen([harness.program, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_ends_an_answer_with_what_is_there():
    p = start("run", "-m", smollm2(), "-p", "Once upon a time", *LONG)
    first = p.stdout.read(1)
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=30)
    check(p.returncode == 0 and first and b"tok/s" in err and b"interrupted" in err, f"{p.returncode} {err}")


def test_json_of_an_interrupted_answer_is_whole():
    import json
    p = start("run", "-m", smollm2(), "-p", "Once upon a time", "--json", *LONG)
    time.sleep(1.5)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    if p.returncode == 1 and b"interrupted" in err:
        raise harness.Skip("the machine is so slow that the prompt was still being read")
    check(p.returncode == 0 and json.loads(out)["stop_reason"] == "interrupted", f"{p.returncode} {out[:300]} {err}")


def test_while_the_prompt_is_read():
    p = start("run", "-m", smollm2(), "-f", path("book.txt", book(24000)), "-b", "32", "-q", *LONG)
    time.sleep(0.7)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=30)
    check(p.returncode == 1 and not out and err.startswith(b"ingot: interrupted") and err.count(b"\n") == 1, f"{p.returncode} {out[:100]} {err}")


def test_second_one_ends_the_program():
    p = start("run", "-m", smollm2(), "-f", path("book.txt", book(24000)), "-b", "6000", "-q", *LONG)
    time.sleep(0.7)
    p.send_signal(signal.SIGINT)
    time.sleep(0.1)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=30)
    check(p.returncode in (-signal.SIGINT, 1), f"{p.returncode}")


def test_run_leaves_the_terminal_as_it_was():
    with Terminal("run", "-m", smollm2(), "-p", "Once upon a time", "-q", *LONG) as t:
        t.read_some()
        t.write("\x03")
        check(t.wait() == 0, str(t))
        check(t.same_terminal(), str(t), "terminal settings")


def test_chat_at_a_terminal():
    with Terminal("chat", "-m", smollm2(), "--temp", "0", *LONG) as t:
        t.read_until("> ")
        t.write("Tell me a long story\n")
        t.read_until("100 %")
        t.read_until("story")
        t.write("\x03")
        t.read_until("[interrupted]")
        t.read_until("> ")
        t.write("half a line\x03")
        t.read_until("> ")
        t.write("/stats\n")
        t.read_until("cache f16")
        t.read_until("> ")
        t.write("\x04")
        check(t.wait() == 0, str(t))
        check(t.same_terminal(), str(t), "terminal settings")


def test_chat_edits_lines():
    with Terminal("chat", "-m", tiny(), "-n", "3") as t:
        t.read_until("> ")
        t.write("/helpx\x7f\n")
        t.read_until("/exit")
        t.read_until("> ")
        t.write("/exit\n")
        check(t.wait() == 0 and t.same_terminal(), str(t))


def test_progress_is_shown_at_a_terminal_only():
    with Terminal("run", "-m", smollm2(), "-f", path("short.txt", book(1500)), "-b", "32", "-n", "1") as t:
        check(t.wait() == 0, str(t))
        check(b"reading the prompt" in t.seen, str(t))
    r = harness.done("run", "-m", smollm2(), "-p", "x", "-n", "1")
    check("\r" not in r.err and "%" not in r.err, r)
