#!/usr/bin/env python3
"""NVIDIA's own example programs of go-nvml: Go programs make system calls without libc.

usage: go_nvml_test.py PARTITA CACHE
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client


def main():
    run = client.Client()
    devices, processes = run.installed("devices"), run.installed("compute-processes")
    kinds = {"dgx-a100": 8, "dgx-h100": 8, "gb200x4": 4, "rtx-pro-6000": 2}
    for kind, count in kinds.items():
        with run.node(kind) as node:
            uuids = re.findall(r"GPU-[0-9a-f-]{36}", node.run(devices))
            run.equal(len(set(uuids)), count, f"UUIDs on {kind}")
            with node.held("1", "1GiB") as pid:
                run.expect(str(pid) in node.run(processes), f"pid {pid} among the processes on {kind}")
    run.did(f"examples/devices and examples/compute-processes on {', '.join(kinds)}")
    run.finish()


main()
