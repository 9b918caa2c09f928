#!/usr/bin/env python3
"""nvsmi, which reads nvidia-smi for GPUs and their processes.

usage: nvsmi_test.py PARTITA CACHE
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client


def main():
    run = client.Client()
    program = run.installed("bin/nvsmi")
    with run.node("dgx-a100") as node:
        gpus = node.run(program, "ls", "--json").splitlines()
        run.equal(len(gpus), 8, "GPUs")
        first = client.loads(gpus[0])
        run.equal(first["name"], "NVIDIA A100-SXM4-40GB", "name")
        run.equal(first["mem_total"], 40960.0, "memory")
        with node.held("2", "4GiB") as pid:
            processes = [client.loads(line) for line in node.run(program, "ps", "--json").splitlines()]
            run.equal([process["pid"] for process in processes], [pid], "processes")
            run.equal(processes[0]["used_memory"], 4096.0, "memory of the process")
        run.did("GPUs and processes of a DGX A100 by nvidia-smi's comma separated values")
    run.finish()


main()
