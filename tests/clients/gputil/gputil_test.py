#!/usr/bin/env python3
"""GPUtil, which reads nvidia-smi.

usage: gputil_test.py PARTITA CACHE
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client

LOOK = """
import json, GPUtil
print(json.dumps([vars(gpu) for gpu in GPUtil.getGPUs()]))
"""


def main():
    run = client.Client()
    python = run.installed("bin/python")
    with run.node("dgx-h200") as node:
        gpus = client.loads(node.run(python, "-c", LOOK))
        run.equal([gpu["id"] for gpu in gpus], list(range(8)), "ids")
        run.equal({gpu["name"] for gpu in gpus}, {"NVIDIA H200"}, "names")
        run.equal(len({gpu["uuid"] for gpu in gpus}), 8, "UUIDs")
        with node.held("3", "8GiB"):
            gpu = client.loads(node.run(python, "-c", LOOK))[3]
            run.expect(gpu["memoryUsed"] >= 8192 and gpu["memoryUtil"] > 0.05, f"8 GiB in use: {gpu}")
        run.did("id, UUID, name, load, memory, temperature of 8 H200s by nvidia-smi's comma separated values")
    run.finish()


main()
