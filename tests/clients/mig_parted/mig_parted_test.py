#!/usr/bin/env python3
"""nvidia-mig-parted itself: apply, assert, export, checkpoint and restore of all-balanced and of mixed layouts.

usage: mig_parted_test.py PARTITA CACHE
"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client

LAYOUTS = {
    "dgx-a100": {"all-balanced": {"1g.5gb": 2, "2g.10gb": 1, "3g.20gb": 1}, "mixed": {"1g.5gb+me": 1, "1g.10gb": 1, "3g.20gb": 1}},
    "dgx-h100": {"all-balanced": {"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}, "mixed": {"1g.10gb": 3, "1g.20gb": 1, "2g.20gb": 1}},
    "dgx-h200": {"all-balanced": {"1g.18gb": 2, "2g.35gb": 1, "3g.71gb": 1}, "mixed": {"1g.18gb+me": 1, "2g.35gb": 3}},
    "dgx-b200": {"all-balanced": {"1g.23gb": 2, "2g.45gb": 1, "3g.90gb": 1}, "mixed": {"3g.90gb": 1, "4g.90gb": 1}},
    "a30x2": {"all-balanced": {"1g.6gb": 2, "2g.12gb": 1}, "mixed": {"2g.12gb+me": 1, "1g.6gb": 1}},
    "rtx-pro-6000": {"all-balanced": {"1g.24gb": 2, "2g.48gb": 1}, "mixed": {"2g.48gb+gfx": 1, "1g.24gb": 2}},
}


def config(layouts: dict) -> str:
    lines = ["version: v1", "mig-configs:", "  all-disabled:", "  - devices: all", "    mig-enabled: false"]
    for label, profiles in layouts.items():
        lines += [f"  {label}:", "  - devices: all", "    mig-enabled: true", "    mig-devices:"]
        lines += [f'      "{profile}": {count}' for profile, count in profiles.items()]
    return "\n".join(lines) + "\n"


def exercise(run: client.Client, program: str, node: client.Node, folder: pathlib.Path, layouts: dict):
    file, saved = folder / "config.yaml", folder / "checkpoint.json"
    file.write_text(config(layouts))
    for label in layouts:
        node.run(program, "apply", "-f", file, "-c", label)
        node.run(program, "assert", "-f", file, "-c", label)
        exported = node.run(program, "export")
        for profile, count in layouts[label].items():
            run.expect(f"{profile}: {count}" in exported.replace('"', ""), f"{profile}: {count} in\n{exported}")
        other = node.partita_run("emulate", node.kind, "--", program, "assert", "-f", str(file), "-c", "all-disabled")
        run.expect(other.returncode != 0, "assert of another layout fails")
        before = node.run("nvidia-smi", "-L")
        node.run(program, "checkpoint", "-f", saved)
        node.run(program, "apply", "-f", file, "-c", "all-disabled")
        node.run(program, "restore", "-f", saved)
        run.equal(node.run("nvidia-smi", "-L"), before, f"{node.kind}: devices after a restore of {label}")


def main():
    run = client.Client()
    program = run.installed("nvidia-mig-parted")
    if os.geteuid() != 0:
        client.skip("nvidia-mig-parted needs root")
    if not pathlib.Path("/proc/modules").exists():
        client.skip("nvidia-mig-parted looks for the driver in /proc/modules, which this machine's kernel does not have")
    for kind, layouts in LAYOUTS.items():
        with run.node(kind) as node, tempfile.TemporaryDirectory() as folder:
            exercise(run, program, node, pathlib.Path(folder), layouts)
            run.did(f"{kind}: apply, assert, export, checkpoint and restore of {' and '.join(layouts)}")
    run.finish()


if __name__ == "__main__":
    main()
