#!/usr/bin/env python3
"""Runs the commands of a page's template and puts their real output in.

usage: fill_readme.py PARTITA TEMPLATE > PAGE

They run in a folder of their own that has docs/ of this one, so that what they write stays nowhere.

In the template a line "@COMMAND" becomes "$ COMMAND" and what it prints, "!COMMAND" runs in the background unseen.
"""
import os
import subprocess
import sys
import tempfile
import time


def main():
    partita, template = os.path.abspath(sys.argv[1]), sys.argv[2]
    background = []
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as work:
        os.symlink(os.path.abspath("docs"), os.path.join(work, "docs"))
        env = {**os.environ, "PARTITA_EMULATED_ROOT": folder, "LANG": "C.UTF-8", "PATH": os.path.dirname(partita) + ":" + os.environ["PATH"]}
        for line in open(template):
            if line.startswith("!"):
                background.append(subprocess.Popen(line[1:].split(), env=env, cwd=work, stdout=subprocess.DEVNULL))
                time.sleep(1)
            elif line.startswith("@"):
                done = subprocess.run(line[1:], shell=True, env=env, cwd=work, capture_output=True, text=True, check=False)
                print("$ " + line[1:].rstrip())
                print((done.stdout + done.stderr).replace(folder, "/var/lib/partita/emulated").rstrip())
            else:
                print(line, end="")
        for process in background:
            process.kill()
            process.wait()


if __name__ == "__main__":
    main()
