#!/usr/bin/env python3
"""nvidia-ctk of NVIDIA's container toolkit: the CDI file that it writes for whole GPUs and MIG devices.

usage: nvidia_ctk_test.py PARTITA CACHE
"""
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client


def devices(spec: dict) -> dict:
    return {device["name"]: [node["path"] for node in device["containerEdits"]["deviceNodes"]] for device in spec["devices"]}


def driver_files(folder: str) -> str:
    """The toolkit lists the driver's libraries by their names, which an emulated node does not have: empty files."""
    libraries = pathlib.Path(folder) / "usr/lib/x86_64-linux-gnu"
    libraries.mkdir(parents=True)
    for name in ("libcuda.so.550.90.07", "libnvidia-ml.so.550.90.07"):
        (libraries / name).touch()
    return folder


def main():
    run = client.Client()
    program = run.installed("nvidia-ctk")
    if os.geteuid() != 0:
        client.skip("the device nodes of a node are shown to root only")
    with run.node("a30x2") as node, tempfile.TemporaryDirectory() as folder:
        node.cut(0, "2g.12gb,1g.6gb")
        spec = client.loads(node.run(program, "--quiet", "cdi", "generate", "--mode=nvml", "--format=json",
                                     "--driver-root", driver_files(folder), "--dev-root", "/"))
        found = devices(spec)
        run.equal(sorted(name for name in found if "-" not in name), ["0:0", "0:1", "1", "all"], "indices of the devices")
        run.equal(sum(name.startswith("MIG-") for name in found), 2, "MIG devices by UUID")
        run.equal(found["1"], ["/dev/nvidia1"], "device nodes of GPU 1")
        run.expect("/dev/nvidia0" in found["0:0"], "the GPU's node for a MIG device")
        caps = [path for path in found["0:0"] if path.startswith("/dev/nvidia-caps/nvidia-cap")]
        run.equal(len(caps), 2, f"capability nodes of a MIG device: {found['0:0']}")
        run.did("CDI file of an A30 with two MIG devices and a whole one, with their capability nodes")
    run.finish()


main()
