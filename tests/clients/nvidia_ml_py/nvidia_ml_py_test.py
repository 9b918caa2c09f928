#!/usr/bin/env python3
"""NVIDIA's own Python bindings (nvidia-ml-py, PyPI) on every kind of emulated node: walk.py in a process of its own each.
Skips with the reason where PyPI is out of reach.

usage: nvidia_ml_py_test.py PARTITA SOURCE_DIR FOLDER
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

VERSION = "13.615.71"
LEAST_ANSWERED = 90  # of pynvml's nvmlDevice* functions, on the poorest node (one GPU without MIG)


def run(partita: str, root: str, *arguments: str):
    environment = {**os.environ, "PARTITA_EMULATED_ROOT": root}
    return subprocess.run([partita, *arguments], env=environment, capture_output=True, text=True, timeout=120)


def main() -> int:
    partita, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    sys.path.insert(0, str(source / "tests/abi"))
    import fetch

    pynvml = fetch.wheel_file("nvidia-ml-py", VERSION, "pynvml.py", folder)
    kinds = sorted(path.stem for path in (source / "data/nodes").glob("*.yaml"))
    failed = 0
    for kind in kinds:
        with tempfile.TemporaryDirectory() as root:
            walked = run(partita, root, "emulate", kind, "--", sys.executable,
                         str(source / "tests/clients/nvidia_ml_py/walk.py"), str(pynvml.parent))
            run(partita, root, "emulate", "stop", kind)
        try:
            result = json.loads(walked.stdout)
        except ValueError:
            print(f"{kind}: ended with {walked.returncode}: {walked.stdout}{walked.stderr}")
            failed += 1
            continue
        wrong = result["wrong"]
        if result["answered"] < LEAST_ANSWERED:
            wrong.append(f"only {result['answered']} functions were answered, expected {LEAST_ANSWERED} or more")
        failed += bool(wrong)
        print(f"{kind}: {result['gpus']} GPUs, {result['answered']} functions answered, {result['refused']} refused, "
              f"{len(result['unfit'])} not called; wrong: {wrong or 'nothing'}")
    print(f"nvidia-ml-py {VERSION}: {len(kinds)} kinds of node, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
