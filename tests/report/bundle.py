#!/usr/bin/env python3
"""web/dist is what web/build.sh makes of web/src today. Skipped where node, npm or a package registry is missing.

usage: bundle.py WEB_FOLDER
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
MOST_BYTES = 400_000
FILES = ["report.js", "report.css", "LICENSES.txt"]


def main() -> int:
    web = pathlib.Path(sys.argv[1])
    kept = {name: (web / "dist" / name).read_bytes() for name in FILES}
    if len(kept["report.js"]) > MOST_BYTES:
        print(f"report.js has {len(kept['report.js'])} bytes, more than {MOST_BYTES}: every report carries it")
        return 1
    for tool in ("node", "npm", "bash"):
        if not shutil.which(tool):
            print(f"skipped: no {tool} on this machine")
            return SKIPPED
    ping = subprocess.run(["npm", "ping", "--fetch-retries=0", "--fetch-timeout=10000"], capture_output=True, text=True, check=False)
    if ping.returncode != 0:
        print("skipped: no package registry can be reached")
        return SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        built = subprocess.run(["bash", str(web / "build.sh"), folder], capture_output=True, text=True, timeout=240, check=False)
        if built.returncode != 0:
            print(f"web/build.sh failed:\n{built.stdout}{built.stderr}")
            return 1
        other = [name for name in FILES if (pathlib.Path(folder) / name).read_bytes() != kept[name]]
    if other:
        print(f"not what web/build.sh makes: {', '.join(other)}; run web/build.sh and commit web/dist")
    return 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
