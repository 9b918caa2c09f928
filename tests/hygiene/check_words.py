#!/usr/bin/env python3
"""Nothing in the project speaks of one machine: no absolute path of a checkout, no registry host. Every file under data/
names its source.

usage: check_words.py SOURCE_DIR
"""
import pathlib
import re
import subprocess
import sys

FORBIDDEN = [
    (re.compile(r"/work/|/home/[a-z]+/|\.\./shared"), "a path of one machine"),
    (re.compile(r"deb\.debian\.org|pypi\.org|registry\.npmjs|crates\.io|proxy\.golang|artifactory", re.I), "a registry host"),
]


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    listed = subprocess.run(["git", "-C", str(root), "ls-files"], capture_output=True, text=True, check=False).stdout.split()
    if not listed:
        print("no git checkout: nothing to check")
        return 0
    wrong = []
    for name in listed:
        file = root / name
        if name.startswith("tests/hygiene/") or "/corpus/" in name or not file.is_file():
            continue
        text = file.read_text(errors="ignore")
        for pattern, what in FORBIDDEN:
            for number, line in enumerate(text.splitlines(), 1):
                if pattern.search(line):
                    wrong.append(f"{name}:{number}: {what}: {line.strip()[:100]}")
        if name.startswith("data/") and name.endswith((".yaml", ".csv")) and not re.search(r"source", text[:4000], re.I):
            wrong.append(f"{name}: names no source")
    print("\n".join(wrong) or f"{len(listed)} files, nothing found")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
