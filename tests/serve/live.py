"""A daemon on an emulated node of its own, for tests that ask it from outside."""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

SKIPPED = 77  # what ctest takes for skipped


def skip(reason: str):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def need(program: str, how: str) -> str:
    found = shutil.which(program)
    if not found:
        skip(f"{program} is not installed; {how}")
    return found


class SocketConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost", timeout=30)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    """Serves `name` on a socket, and with TLS on a port for the holder of `token`."""

    def __init__(self, partita: str, folder: pathlib.Path, name: str):
        self.partita, self.folder, self.name = partita, folder, name
        self.env = dict(os.environ, PARTITA_EMULATED_ROOT=str(folder / "nodes"))
        (folder / "nodes").mkdir()
        self.socket = folder / "s"
        self.certificate, key = folder / "cert.pem", folder / "key.pem"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "1", "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out",
             self.certificate],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.process = subprocess.Popen(
            [partita, "--emulate", name, "serve", "--socket", self.socket, "--listen", "127.0.0.1:0", "--certificate",
             self.certificate, "--key", key],
            env=self.env, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        if "TLS on port" not in line:
            raise RuntimeError(f"the daemon does not serve: {line!r}")
        self.port = int(line.rsplit(" ", 1)[1])
        self.token = self.run("token", "create", "test", "--role", "administrator", "--user", "root").strip()

    def run(self, *arguments: str) -> str:
        return subprocess.run([self.partita, "--emulate", self.name, *arguments], env=self.env, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout

    def ask(self, method: str, path: str, body=None, headers=None):
        connection = SocketConnection(self.socket)
        connection.request(method, path, None if body is None else json.dumps(body),
                           {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def stop(self) -> int:
        """Releases every lease, so that nothing of them is left, and ends the daemon."""
        if self.process.poll() is None:
            for lease in json.loads(self.ask("GET", "/v1/leases")[1])["leases"]:
                self.ask("DELETE", f"/v1/leases/{lease['name']}", {"grace_ms": 0, "force": True})
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=30)


@contextlib.contextmanager
def daemon(partita: str, node: str):
    with tempfile.TemporaryDirectory(prefix="partita-serve-") as folder:
        running = Daemon(partita, pathlib.Path(folder), f"live{os.getpid()}={node}")
        try:
            yield running
        finally:
            running.stop()
