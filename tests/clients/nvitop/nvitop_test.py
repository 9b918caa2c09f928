#!/usr/bin/env python3
"""nvitop, the process viewer: one look at whole GPUs and at MIG devices, and its library's numbers.

usage: nvitop_test.py PARTITA CACHE
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import client

LOOK = """
import json, nvitop
out = []
for device in nvitop.Device.all():
    migs = device.mig_devices() if device.is_mig_mode_enabled() else []
    out.append({"name": device.name(), "total": device.memory_total(), "used": device.memory_used(),
                "pids": sorted(device.processes()),
                "migs": [{"total": mig.memory_total(), "used": mig.memory_used(), "gi": mig.gpu_instance_id(),
                          "ci": mig.compute_instance_id(), "uuid": mig.uuid(), "pids": sorted(mig.processes())} for mig in migs]})
print(json.dumps(out))
"""


def main():
    run = client.Client()
    nvitop, python = run.installed("bin/nvitop"), run.installed("bin/python")
    with run.node("dgx-h100") as node:
        screen = node.run(nvitop, "--once", "--ascii")
        run.expect(screen.count("H100 80GB HBM3") == 8, f"8 H100s on the screen:\n{screen}")
        with node.held("0", "10GiB") as pid:
            gpu = client.loads(node.run(python, "-c", LOOK))[0]
            run.equal(gpu["pids"], [pid], "processes of GPU 0")
            run.expect(gpu["used"] >= 10 << 30, f"10 GiB in use, found {gpu['used']}")
            run.expect(str(pid) in node.run(nvitop, "--once", "--ascii"), "the process on the screen")
        run.did("one screen of 8 H100s; a process with its memory on a whole GPU")
    with run.node("a30x2") as node:
        node.cut(0, "2g.12gb,1g.6gb,1g.6gb")
        gpus = client.loads(node.run(python, "-c", LOOK))
        run.equal([len(gpu["migs"]) for gpu in gpus], [3, 0], "MIG devices")
        first = gpus[0]["migs"][0]
        with node.held(first["uuid"], "1GiB") as pid:
            again = client.loads(node.run(python, "-c", LOOK))[0]["migs"]
            run.equal([mig["pids"] for mig in again], [[pid], [], []], "processes of the MIG devices")
            run.expect(again[0]["used"] >= 1 << 30 > again[1]["used"], "memory of the held MIG device only")
        screen = node.run(nvitop, "--once", "--ascii")
        run.expect("MIG" in screen, f"MIG devices on the screen:\n{screen}")
        run.did("three MIG devices of an A30 with their memory, ids and a process on one of them")
    run.finish()


main()
