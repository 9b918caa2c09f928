#!/usr/bin/env python3
"""nvml-wrapper for Rust: main.rs asks what a monitor asks.

usage: nvml_wrapper_test.py PARTITA CACHE
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client


def main():
    run = client.Client()
    program = run.installed("nvml_wrapper")
    for kind, gpus, name in (("dgx-h100", 8, "NVIDIA H100 80GB HBM3"), ("dgx-a100", 8, "NVIDIA A100-SXM4-40GB"), ("rtx-pro-6000", 2, "RTX PRO 6000")):
        with run.node(kind) as node:
            with node.held("1", "1GiB") as pid:
                lines = node.run(program).splitlines()
            run.equal(sum(line.startswith("gpu ") and name in line for line in lines), gpus, f"GPUs on {kind}")
            run.expect(f"process {pid} on 1" in lines, f"pid {pid} on GPU 1:\n" + "\n".join(lines))
        run.did(f"{kind}: name, UUID, memory, temperature, power, clock, architecture, a process")
    with run.node("a30x2") as node:
        node.cut(0, "2g.12gb,1g.6gb,1g.6gb")
        migs = [line for line in node.run(program).splitlines() if line.startswith("migdevice 0:")]
        run.equal([line.split()[-2] for line in migs], ["11968", "5952", "5952"], "memory of the MIG devices")
        run.did("a30x2: three MIG devices with UUID and memory")
    run.finish()


main()
