"""What the tests of clients share. A test makes a Client, runs programs on emulated nodes, and tells what they did:
each line "did: ..." goes into docs/clients.md."""
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import tomllib

SKIP = 77
HERE = pathlib.Path(__file__).resolve().parent


def skip(reason: str):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def known_clients() -> dict:
    return tomllib.loads((HERE / "clients.toml").read_text())


class Node:
    def __init__(self, partita: str, root: str, kind: str):
        self.partita, self.kind = partita, kind
        self.environment = {**os.environ, "PARTITA_EMULATED_ROOT": root, "TERM": "xterm", "NO_COLOR": "1"}

    def partita_run(self, *arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([self.partita, *arguments], env=self.environment, capture_output=True, text=True, timeout=240)

    def run(self, *command: str) -> str:
        """Standard output of a command on the node, which must end well."""
        done = self.partita_run("emulate", self.kind, "--", *map(str, command))
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))} on {self.kind} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
        return done.stdout

    def cut(self, gpu: int, layout: str):
        """MIG on, and these profiles with their compute instances; placed by the driver."""
        self.run("nvidia-smi", "-mig", "1", "-i", str(gpu))
        self.partita_run("emulate", "reset", self.kind)
        self.run("nvidia-smi", "mig", "-i", str(gpu), "-cgi", layout, "-C")

    @contextlib.contextmanager
    def held(self, device: str, memory: str):
        """A process that holds the device meanwhile; gives its pid."""
        holder = subprocess.Popen(["sleep", "600"])
        try:
            done = self.partita_run("emulate", "hold", device, "--memory", memory, "--pid", str(holder.pid), "--node", self.kind)
            assert done.returncode == 0, done.stderr
            yield holder.pid
        finally:
            holder.kill()
            holder.wait()


class Client:
    """Of the folder that the test is in; argv: PARTITA CACHE."""

    def __init__(self):
        self.key = pathlib.Path(sys.argv[0]).resolve().parent.name
        self.facts = known_clients()[self.key]
        self.name = self.facts.get("name", self.key)
        self.partita, self.cache = sys.argv[1], pathlib.Path(sys.argv[2]).resolve() / self.key
        self.failed = False

    def installed(self, program: str) -> str:
        path = self.cache / program
        if not path.exists():
            skip(f"{self.name} {self.facts['version']} is not there; ./dev clients fetches it from: {self.facts['from']}")
        stamp = self.cache / "version"
        if stamp.read_text().strip() != self.facts["version"]:
            skip(f"{self.name} is of another version ({stamp.read_text().strip()}); ./dev clients fetches {self.facts['version']}")
        return str(path)

    @contextlib.contextmanager
    def node(self, kind: str):
        with tempfile.TemporaryDirectory(prefix="partita-client-") as root:
            node = Node(self.partita, root, kind)
            started = node.partita_run("emulate", "start", kind)
            assert started.returncode == 0, started.stderr
            try:
                yield node
            finally:
                node.partita_run("emulate", "stop", kind)

    def did(self, what: str):
        print(f"did: {what}", flush=True)

    def equal(self, found, expected, what: str):
        if found != expected:
            self.failed = True
            print(f"{what}: expected {expected!r}, found {found!r}", flush=True)

    def expect(self, good: bool, what: str):
        if not good:
            self.failed = True
            print(f"expected: {what}", flush=True)

    def finish(self):
        print(f"{self.name} {self.facts['version']}: {'failed' if self.failed else 'passed'}")
        sys.exit(1 if self.failed else 0)


def loads(text: str):
    """JSON that stands behind what a program prints first."""
    return json.loads(text[text.index(next(c for c in text if c in "[{")):])
