#!/usr/bin/env python3
"""Whole commands, process start to end: wall time and peak memory.

usage: command.py PARTITA LAYOUTS
"""
import contextlib
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def timed(words, env) -> tuple[float, int]:
    """Seconds and peak resident KiB of one run."""
    start = time.perf_counter()
    process = subprocess.Popen(words, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"{' '.join(words)}: {process.stderr.read().decode()}")
    return seconds, usage.ru_maxrss


def row(name, runs, limit_ms):
    times = sorted(t * 1000 for t, _ in runs)
    print(f"{name:58} median {statistics.median(times):7.2f} ms   p90 {times[int(len(times) * 0.9)]:7.2f} ms   "
          f"peak {max(m for _, m in runs) / 1024:6.1f} MiB   (floor: {limit_ms} ms)", flush=True)


@contextlib.contextmanager
def served(node, env):
    """A daemon of the node, once it serves."""
    daemon = subprocess.Popen(node + ["serve"], env=env, stdout=subprocess.PIPE, text=True)
    try:
        if "serves" not in daemon.stdout.readline():
            sys.exit("the daemon does not serve")
        yield
    finally:
        daemon.terminate()
        daemon.wait()


def main():
    partita, layouts = sys.argv[1:3]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "PARTITA_EMULATED_ROOT": folder}
        row("partita --help", [timed([partita, "--help"], env) for _ in range(50)], 10)
        node = [partita, "--emulate", "bench=dgx-a100"]
        full = pathlib.Path(folder) / "full.yaml"
        full.write_text("version: v1\nmig-configs:\n"
                        "  small: [{devices: all, mig-enabled: true, mig-devices: {1g.5gb: 7}}]\n"
                        "  mixed: [{devices: all, mig-enabled: true, mig-devices: {3g.20gb: 1, 2g.10gb: 1, 1g.5gb: 2}}]\n")
        timed([partita, "emulate", "start", "bench=dgx-a100"], env)
        timed(node + ["apply", "-f", str(full), "-c", "small"], env)   # turns MIG on, with its resets
        runs = []
        for turn in range(20):
            runs.append(timed(node + ["apply", "-f", str(full), "-c", ("mixed", "small")[turn % 2]], env))
        row("partita --emulate dgx-a100 apply, all 8 GPUs recut", runs, 60)
        row("partita --emulate dgx-a100 apply, nothing to change",
            [timed(node + ["apply", "-f", str(full), "-c", "small"], env) for _ in range(20)], 60)
        row("partita --emulate dgx-a100 status", [timed(node + ["status"], env) for _ in range(20)], 60)
        run = node + ["run", "-p", "1g.5gb", "--", "true"]
        row("true", [timed(["true"], env) for _ in range(50)], "-")
        row("partita --emulate dgx-a100 run -p 1g.5gb -- true", [timed(run, env) for _ in range(50)], "30 over true")
        with served(node, env):
            row("the same, with a daemon", [timed(run, env) for _ in range(50)], "30 over true")


if __name__ == "__main__":
    main()
