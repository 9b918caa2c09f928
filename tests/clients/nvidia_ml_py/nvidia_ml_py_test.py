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

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client

VERSION = client.known_clients()["nvidia_ml_py"]["version"]
LEAST_ANSWERED = 90  # of pynvml's nvmlDevice* functions, on the poorest node (one GPU without MIG)


def run(partita: str, root: str, *arguments: str):
    environment = {**os.environ, "PARTITA_EMULATED_ROOT": root}
    return subprocess.run([partita, *arguments], env=environment, capture_output=True, text=True, timeout=120)


def held(partita: str, walk: str, pynvml: str) -> bool:
    """A process that holds a GPU finds itself there."""
    with tempfile.TemporaryDirectory() as root:
        run(partita, root, "emulate", "start", "dgx-h100")
        walked = run(partita, root, "emulate", "hold", "1", "--memory", "2GiB", "--", sys.executable, walk, pynvml, "1")
        run(partita, root, "emulate", "stop", "dgx-h100")
    good = walked.returncode == 0
    print(f"dgx-h100: a process that holds GPU 1 finds itself there; wrong: {'nothing' if good else walked.stdout + walked.stderr}")
    return good


def main() -> int:
    partita, source, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    sys.path.insert(0, str(source / "tests/abi"))
    import fetch

    pynvml = fetch.wheel_file("nvidia-ml-py", VERSION, "pynvml.py", folder)
    kinds = sorted(path.stem for path in (source / "data/nodes").glob("*.yaml"))
    walk = str(source / "tests/clients/nvidia_ml_py/walk.py")
    failed = 0 if held(partita, walk, str(pynvml.parent)) else 1
    for kind in kinds:
        with tempfile.TemporaryDirectory() as root:
            walked = run(partita, root, "emulate", kind, "--", sys.executable, walk, str(pynvml.parent))
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
