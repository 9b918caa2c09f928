#!/usr/bin/env python3
"""NVIDIA's libraries under mig-parted, go-nvlib and go-nvml: main.go cuts, asserts and restores layouts as it does.

usage: go_nvlib_test.py PARTITA CACHE
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client

# all-balanced as mig-parted has it, and mixed ones that only some orders of creation can place.
LAYOUTS = {
    "dgx-a100": ["2x1g.5gb 1x2g.10gb 1x3g.20gb", "1x1g.5gb 1x2g.10gb 1x4g.20gb", "1x1g.5gb+me 1x1g.10gb 1x3g.20gb"],
    "dgx-h100": ["2x1g.10gb 1x2g.20gb 1x3g.40gb", "1x3g.40gb 1x4g.40gb", "3x1g.10gb 1x1g.20gb 1x2g.20gb"],
    "dgx-h200": ["2x1g.18gb 1x2g.35gb 1x3g.71gb", "1x1g.18gb+me 3x2g.35gb"],
    "dgx-b200": ["2x1g.23gb 1x2g.45gb 1x3g.90gb", "7x1g.23gb"],
    "a30x2": ["2x1g.6gb 1x2g.12gb", "1x2g.12gb+me 1x1g.6gb"],
    "rtx-pro-6000": ["2x1g.24gb 1x2g.48gb", "1x1g.24gb+me.all 3x1g.24gb-me", "1x2g.48gb+gfx 2x1g.24gb"],
}


def main():
    run = client.Client()
    program = run.installed("go_nvlib")
    if os.geteuid() != 0:
        client.skip("the PCI bus of a node is shown to root only")
    for kind, layouts in LAYOUTS.items():
        with run.node(kind) as node:
            said = node.run(program, *layouts)
            run.equal(said.count("cut, asserted and restored"), len(layouts), f"layouts on {kind}")
            run.did(f"{kind}: {'; '.join(layouts)}")
    run.finish()


main()
