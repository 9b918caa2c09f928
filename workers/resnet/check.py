#!/usr/bin/env python3
"""Runs partita-worker-resnet on the CPU with the tiny network, alone and in a measured study.

usage: check.py SOURCE_DIR PARTITA [WORKER]; without a worker, which needs libtorch, it is skipped (exit status 77).
"""
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import tempfile
import unittest

SOURCE, PARTITA, WORKER = (sys.argv[1:] + [None])[:3]
TINY = ["--model", "tiny", "--device", "cpu", "--threads", "1"]


def worker(*options, **more):
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PARTITA_")}
    return subprocess.run([WORKER, *options], capture_output=True, text=True, env=variables, timeout=120, check=False, **more)


def lines_of(run):
    return [json.loads(line) for line in run.stdout.splitlines()]


class Alone(unittest.TestCase):
    def test_every_mode_counts_its_pictures(self):
        for mode in ("inference", "training"):
            for precision in ("fp32", "bf16"):
                run = worker(*TINY, "--mode", mode, "--precision", precision, "--batch", "4", "--steps", "5")
                self.assertEqual((run.returncode, run.stderr), (0, ""))
                first, *rest = lines_of(run)
                self.assertEqual(first["device"], "CPU, 1 thread")
                self.assertEqual(sum(line["samples"] for line in rest), 20)
                self.assertEqual(sum(len(line["latency_ms"]) for line in rest), 5)

    def test_intervals_end_in_time(self):
        _, *rest = lines_of(worker(*TINY, "--seconds", "1", "--interval", "0.25"))
        self.assertGreaterEqual(len(rest), 3)
        self.assertTrue(all(a["t"] < b["t"] for a, b in zip(rest, rest[1:])))
        self.assertGreaterEqual(rest[-1]["t"], 1)

    def test_out_of_memory_is_a_result(self):
        run = worker("--model", "resnet18", "--device", "cpu", "--batch", "512", "--memory-gib", "0.3")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertEqual(lines_of(run)[-1]["error"], "out of memory")

    def test_sigterm_ends_it_between_two_lines(self):
        process = subprocess.Popen([WORKER, *TINY, "--seconds", "600", "--interval", "0.2"], stdout=subprocess.PIPE)
        lines = [process.stdout.readline() for _ in range(2)]  # the first one, and an interval
        process.send_signal(signal.SIGTERM)
        rest, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        for line in (b"".join(lines) + rest).splitlines()[1:]:
            self.assertGreater(json.loads(line)["samples"], 0)

    def test_wrong_options_are_one_line(self):
        for options, words in ((["--batch", "x"], "--batch: expected a number"), (["--precision", "tf32"], "on the CPU there is fp32")):
            run = worker(*TINY, *options)
            self.assertEqual((run.returncode, run.stdout), (2, ""))
            self.assertIn(words, run.stderr)
            self.assertEqual(run.stderr.count("\n"), 1)

    def test_a_full_disk_is_told(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([WORKER, *TINY], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("No space left", run.stderr)

    def test_progress_is_drawn_on_a_terminal(self):
        ours, theirs = pty.openpty()
        run = subprocess.run([WORKER, *TINY, "--seconds", "0.6", "--interval", "0.2"], stdout=subprocess.DEVNULL, stderr=theirs,
                             timeout=60, check=False)
        os.close(theirs)
        self.assertEqual(run.returncode, 0)
        self.assertIn(b"images/s", os.read(ours, 65536))
        os.close(ours)


class InAStudy(unittest.TestCase):
    def measured(self, *command, study=SOURCE + "/docs/examples/measured-resnet.yaml"):
        with tempfile.TemporaryDirectory() as folder:
            report = folder + "/report.md"
            subprocess.run([PARTITA, "study", study, "--measure", "--seconds", "60", "-O", report, "--", *command],
                           check=True, capture_output=True, timeout=120)
            return pathlib.Path(report).read_text(encoding="utf-8")

    def test_is_labelled_as_run_on_the_cpu(self):
        text = self.measured(WORKER, *TINY, "--batch", "2", "--seconds", "0.8", "--interval", "0.2")
        self.assertIn("without partitions (CPU, 1 thread: not a GPU); 2 of 2 tenants ran without trouble", text)
        for tenant in ("infers", "trains"):
            row = next(line for line in text.splitlines() if f"process of {tenant} (CPU, 1 thread)" in line)
            self.assertGreater(float(row.split("|")[3].replace(",", "")), 0)

    def test_shows_the_tenant_whose_memory_ends(self):
        script = '[ "$PARTITA_TENANT" = infers ] || set -- "$@" --model resnet18 --batch 512 --memory-gib 0.3; exec "$@"'
        text = self.measured("sh", "-c", script, "sh", WORKER, *TINY, "--batch", "2", "--seconds", "0.8", "--interval", "0.2")
        self.assertIn("1 of 2 tenants ran without trouble: trains: out of memory", text)


if __name__ == "__main__":
    if not WORKER:
        print("skipped: partita-worker-resnet is not built; ./dev worker installs libtorch and builds it")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
