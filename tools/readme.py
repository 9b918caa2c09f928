#!/usr/bin/env python3
"""Runs the commands of a page and puts what they print into it, or checks that it is there already.

usage: readme.py PARTITA PAGE [--check]

Commands are the lines "$ COMMAND" of blocks that begin with ```console, up to the next one stands what it prints; a command
that ends with & goes on in the background. They run in a folder of their own that has docs/ of this one, so that what they
write stays nowhere. Process ids may differ.
"""
import difflib
import getpass
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

WAIT_S = 10  # until what runs in the background is seen


def parts(page):
    """Yields (command or None, its lines): what is no command as it stands, and each command with what it prints."""
    command, lines, inside = None, [], False
    for line in page.splitlines():
        fence = line.startswith("```")
        if fence or (inside and line.startswith("$ ")):
            yield command, lines
            command, lines = (None, []) if fence else (line[2:], [])
        if fence:
            inside = line == "```console"
        if command is None or not line.startswith("$ "):
            lines.append(line)
    yield command, lines


def alike(lines):
    """Without what changes from run to run: process ids, and the room that their digits take."""
    return [re.sub(r"\b(sleep|pid) \d+ *", r"\1 <PID> ", line).rstrip() for line in lines]


def run(command, old, world):
    """What the command prints; asked again while something in the background may not be seen yet."""
    until = time.monotonic() + (WAIT_S if world["background"] else 0)
    while True:
        done = subprocess.run(command, shell=True, env=world["env"], cwd=world["folder"], capture_output=True, text=True, check=False)
        text = (done.stdout + done.stderr).replace(world["nodes"], "/var/lib/partita/emulated")
        lines = [line.rstrip() for line in text.rstrip().splitlines()]
        lines = [line.replace(getpass.getuser(), "root") if "holder" in line else line for line in lines]
        if alike(lines) == alike(old) or time.monotonic() > until:
            return lines
        time.sleep(0.2)


def filled(page, partita):
    with tempfile.TemporaryDirectory() as nodes, tempfile.TemporaryDirectory() as folder:
        os.symlink(os.path.abspath("docs"), os.path.join(folder, "docs"))
        path = os.path.dirname(partita) + ":" + os.environ["PATH"]
        env = {**os.environ, "PARTITA_EMULATED_ROOT": nodes, "LANG": "C.UTF-8", "PATH": path}
        world = {"env": env, "folder": folder, "nodes": nodes, "background": False}
        programs, out = [], []
        for command, lines in parts(page):
            if command is None:
                out += lines
                continue
            out.append("$ " + command)
            if command.endswith("&"):
                programs.append(subprocess.Popen(command[:-1].split(), env=env, cwd=folder, stdout=subprocess.DEVNULL))
                world["background"] = True
                continue
            out += run(command, lines, world)
            world["background"] = False
        for program in programs:
            program.terminate()
            program.wait()
    return out


def main():
    partita, path = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    old = path.read_text(encoding="utf-8").splitlines()
    new = filled("\n".join(old), partita)
    if "--check" not in sys.argv:
        path.write_text("\n".join(new) + "\n", encoding="utf-8")
        return 0
    wrong = list(difflib.unified_diff(alike(old), alike(new), f"{path}", "what the commands print", lineterm=""))
    print("\n".join(wrong) or f"{path} shows what its commands print")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
