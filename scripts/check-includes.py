#!/usr/bin/env python3
"""Checks which room may include which: the arrows of docs/architecture.md.

check-includes.py [ROOT]      prints each forbidden #include, exit code 1 if there is one
check-includes.py --self-test plants forbidden includes in a scratch tree and expects to find each of them
"""
import os
import re
import sys
import tempfile

# Rooms that a room may include besides itself. A name with a slash is one header.
ARROWS = {
    "base": set(),
    "codec": {"base/half.h", "base/rng.h", "base/hadamard.h"},
    "transform": {"base/half.h", "base/rng.h", "base/hadamard.h", "base/hadamard_signed.h"},
    "policy": {"base"},
    "calibration": {"base"},
    "method": {"codec", "transform", "policy", "calibration", "base"},
    "wtype": {"base"},
    "backend": {"codec", "transform", "base", "wtype"},
    "backend/ref": {"backend", "codec", "transform", "base", "wtype"},
    "backend/cpu": {"backend", "codec", "transform", "base", "wtype", "backend/ref"},
    "cache": {"method", "policy", "transform", "codec", "calibration", "backend", "base"},
    "gguf": {"wtype", "base"},
    "tokenizer": {"gguf", "base"},
    "model": {"backend", "gguf", "wtype", "tokenizer", "calibration/fingerprint.h", "base"},
    "engine": {"model", "cache", "method", "calibration", "tokenizer", "backend", "gguf", "wtype", "base"},
    "eval": {"engine/capture.h", "model/output_moment.h", "calibration/derive.h", "cache/cache_team.h", "policy", "codec", "transform", "base"},
    "bench": {"cache", "backend", "codec", "eval/stats.h", "base"},
    "tools/common": set(),
    "tools/ingot": {"tools/common"},
}
# A back end that is not listed above gets the interface and nothing of other back ends.
NEW_BACKEND = ARROWS["backend/ref"]

PLAIN = {"status.h", "types.h"}
PARTS = PLAIN | {"calibration.h"}
LIBRARY = PARTS | {"machine.h", "method.h", "cache.h", "device.h", "file.h", "ingot.h"}
ENGINE = LIBRARY | {"model.h", "session.h", "eval.h", "calibrate.h", "probe.h", "bench.h"}
# Public headers (<ingot/...>) that a room may include. Tools and tests: all.
PUBLIC = {
    "base": PLAIN | {"ingot.h", "machine.h", "file.h"},  # what these three declare is of this room
    "codec": PARTS, "transform": PARTS, "calibration": PARTS | {"file.h"}, "wtype": PLAIN, "gguf": PLAIN,
    "tokenizer": PLAIN | {"model.h"},  # its flags and messages are declared there
    "policy": LIBRARY, "method": LIBRARY, "cache": LIBRARY, "backend": LIBRARY,
    "model": ENGINE, "engine": ENGINE, "eval": ENGINE, "bench": ENGINE,
}
# Libraries that are not libc, and the rooms that may use them.
EXTERNAL = {
    "pcre2.h": {"tokenizer"},
    "utf8proc.h": {"tokenizer"},
    "xxhash.h": {"base"},
    "jansson.h": {"tools/ingot", "tools/common"},
    "histedit.h": {"tools/ingot", "tools/common"},
    "editline/readline.h": {"tools/ingot", "tools/common"},
}
SUFFIXES = (".c", ".h", ".def", ".cu", ".cuh", ".metal", ".m")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def room_of(path):
    """The room of a file, from its path below the root."""
    parts = path.split("/")
    if parts[0] == "include":
        return "public"
    if parts[0] == "tools":
        return "/".join(parts[:2])
    if parts[0] != "src":
        return None
    if parts[1] == "gguf" and parts[2].startswith("wtype"):
        return "wtype"
    if parts[1] == "backend" and len(parts) > 3:
        return "/".join(parts[1:3])
    return parts[1]


def allowed_rooms(room):
    if room.startswith("backend/"):
        return ARROWS.get(room, NEW_BACKEND)
    return ARROWS.get(room)


def judge(root, path, room, bracket, name):
    """None when the include is allowed, else what is wrong with it."""
    if name.startswith("ingot/"):
        if not os.path.exists(os.path.join(root, "include", name)):
            return "there is no such public header"
        public = PUBLIC.get(room.split("/")[0])
        if public is not None and name[len("ingot/"):] not in public:
            return f"{room} may not include this public header"
        return None
    if bracket == "<":
        users = EXTERNAL.get(name)
        return f"{room} may not use this library" if users and room not in users else None
    for base in (os.path.dirname(path), "src", "tools"):
        target = os.path.normpath(os.path.join(base, name))
        if os.path.exists(os.path.join(root, target)):
            break
    else:
        return "there is no such file"
    to = room_of(target)
    if to == room:
        return None
    if to is None or room == "public":
        return f"{room} may not include {target}"
    rooms = allowed_rooms(room)
    if rooms is None:
        return f"the room {room} is not in the table of scripts/check-includes.py"
    if to in rooms or target.removeprefix("src/") in rooms:
        return None
    return f"{room} may not include {to}"


def check(root):
    problems = []
    for top in ("include", "src", "tools"):
        for folder, folders, files in os.walk(os.path.join(root, top)):
            folders.sort()
            for file in sorted(files):
                if not file.endswith(SUFFIXES):
                    continue
                path = os.path.relpath(os.path.join(folder, file), root)
                with open(os.path.join(root, path), encoding="utf-8") as f:
                    for number, line in enumerate(f, 1):
                        m = INCLUDE.match(line)
                        why = m and judge(root, path, room_of(path), m[1], m[2])
                        if why:
                            problems.append(f"{path}:{number}: {m[2]}: {why}")
    return problems


# Path -> text of a scratch tree; a line that ends in /*bad*/ must be reported, no other may be.
PLANTED = {
    "include/ingot/status.h": "#include <stdint.h>\n",
    "include/ingot/model.h": '#include <ingot/status.h>\n#include "../../src/base/error.h" /*bad*/\n',
    "include/ingot/cache.h": "",
    "src/base/error.h": "#include <ingot/status.h>\n#include <pcre2.h> /*bad*/\n",
    "src/base/half.h": '#include "../codec/codec.h" /*bad*/\n',
    "src/codec/codec.h": '#include "../base/half.h"\n#include "../base/error.h" /*bad*/\n',
    "src/backend/kv.h": '#include "codec/codec.h"\n#include "ref/ref.h" /*bad*/\n',
    "src/backend/ref/ref.h": '#include "../kv.h"\n#include "../cpu/cpu.h" /*bad*/\n',
    "src/backend/cpu/cpu.h": '#include "../ref/ref.h"\n#include "../../gguf/wtype.h"\n#include "../../gguf/gguf.h" /*bad*/\n',
    "src/backend/new/new.h": '#include "../kv.h"\n# include "../ref/ref.h" /*bad*/\n',
    "src/gguf/wtype.h": '#include "gguf.h" /*bad*/\n',
    "src/gguf/gguf.h": '#include "wtype.h"\n#include <ingot/model.h> /*bad*/\n',
    "src/cache/cache.c": '#include <ingot/cache.h>\n#include <ingot/model.h> /*bad*/\n#include "../backend/kv.h"\n',
    "src/eval/ppl.c": '#include <ingot/model.h>\n#include "../engine/engine.h" /*bad*/\n',
    "src/engine/engine.h": '#include "../cache/cache.c"\n#include "missing.h" /*bad*/\n',
    "src/attic/old.c": '#include "../base/error.h" /*bad*/\n',
    "tools/common/args.h": "#include <jansson.h>\n",
    "tools/ingot/main.c": '#include "../common/args.h"\n#include "common/args.h"\n#include <ingot/model.h>\n'
                          '#include "../../src/base/error.h" /*bad*/\n#include <ingot/secret.h> /*bad*/\n',
}


def self_test():
    with tempfile.TemporaryDirectory() as root:
        want = set()
        for path, text in PLANTED.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as f:
                f.write(text)
            want |= {f"{path}:{n}" for n, line in enumerate(text.splitlines(), 1) if "/*bad*/" in line}
        got = {":".join(p.split(":")[:2]) for p in check(root)}
    for place in sorted(want - got):
        print(f"self-test: not found: {place}")
    for place in sorted(got - want):
        print(f"self-test: wrongly reported: {place}")
    return want == got


def main(args):
    if args == ["--self-test"]:
        return 0 if self_test() else 1
    root = args[0] if args else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    problems = check(os.path.normpath(root))
    print("\n".join(problems) if problems else "includes: all arrows are allowed ones")
    return 1 if problems else 0


sys.exit(main(sys.argv[1:]))
