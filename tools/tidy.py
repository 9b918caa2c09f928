#!/usr/bin/env python3
"""Runs clang-tidy on the given files, as many at a time as there are cores, and prints only what it found.

A file whose text, headers and checks have not changed since it was last found clean is skipped: the key is the hash of
the file, clang's preprocessed output, .clang-tidy and clang-tidy's version, kept for all checkouts in the user's cache folder.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys


# Test programs are compiled with the library's own assertions, so a test that looks into an empty optional fails loudly by
# itself; and a gtest fixture is never deleted through its base.
IN_TESTS = "-bugprone-unchecked-optional-access,-cppcoreguidelines-virtual-class-destructor"


# Programs of their own that are built only where what they need is installed.
OPTIONAL = ("workers/", "integrations/")


def preprocessed(command: dict) -> bytes:
    words = [w for w in shlex.split(command["command"]) if "ccache" not in os.path.basename(w)]
    output = words.index("-o")
    del words[output:output + 2]
    words[0] = "clang++-19"
    return subprocess.run(words + ["-E", "-P", "-w"], cwd=command["directory"], capture_output=True, check=False).stdout


def main() -> int:
    build, files = pathlib.Path(sys.argv[1]), sys.argv[2:]
    commands = {os.path.relpath(c["file"]): c for c in json.loads((build / "compile_commands.json").read_text())}
    cache = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "partita" / "tidy"
    cache.mkdir(parents=True, exist_ok=True)
    version = subprocess.run(["clang-tidy-19", "--version"], capture_output=True, check=True).stdout
    checks = version + pathlib.Path(".clang-tidy").read_bytes()

    def check(file: str) -> tuple[str, bool, str]:
        if file not in commands:
            return file, False, "is in no build target"
        fewer = ["--checks=" + IN_TESTS] if file.endswith("_test.cpp") else []
        text = pathlib.Path(file).read_bytes()  # comments count, too: they may silence a check
        key = hashlib.sha256(checks + "".join(fewer).encode() + text + preprocessed(commands[file])).hexdigest()
        if (cache / key).exists():
            return file, True, ""
        run = subprocess.run(["clang-tidy-19", "--quiet", *fewer, "-p", str(build), file], capture_output=True, text=True, check=False)
        if run.returncode == 0:
            (cache / key).touch()
        return file, run.returncode == 0, run.stdout + run.stderr

    clean = True
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for file, good, text in pool.map(check, files):
            if not good:
                clean = False
                print(f"{file}:\n{text}", flush=True)
    return 0 if clean else 1


if __name__ == "__main__":
    sys.exit(main())
