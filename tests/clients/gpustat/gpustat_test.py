#!/usr/bin/env python3
"""gpustat: its JSON and its lines, on a DGX B200 and a mixed node.

usage: gpustat_test.py PARTITA CACHE
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client


def main():
    run = client.Client()
    gpustat = run.installed("bin/gpustat")
    for kind, name, count, total in (("dgx-b200", "NVIDIA B200", 8, 183359), ("a30x2", "NVIDIA A30", 2, 24576)):
        with run.node(kind) as node:
            gpus = client.loads(node.run(gpustat, "--json"))["gpus"]
            run.equal([gpu["name"] for gpu in gpus], [name] * count, f"names on {kind}")
            run.equal({gpu["memory.total"] for gpu in gpus}, {total}, f"memory on {kind}")
            with node.held("1", "2GiB") as pid:
                held = client.loads(node.run(gpustat, "--json"))["gpus"][1]
                run.equal([process["pid"] for process in held["processes"]], [pid], "processes")
                run.expect(held["memory.used"] >= 2048, "2 GiB in use")
            lines = node.run(gpustat, "--no-color", "-cpu").splitlines()
            run.equal(len(lines), count + 1, "lines")
            run.did(f"JSON and lines of {count} {name}, with a process and its memory")
    run.finish()


main()
