#!/usr/bin/env python3
"""Runs the tests of all clients and writes what came of it as docs/clients.md.

usage: table.py PARTITA CACHE
"""
import pathlib
import re
import subprocess
import sys

import client

SOURCE = client.HERE.parents[1]
HEAD = """# Real clients of the emulated driver

Programs that others wrote, unmodified, on emulated nodes: what each did, and what came of it. This page is written by
`./dev clients`, which fetches them in the versions below, runs their tests (`tests/clients/`) and tells the outcome. Without
it, `./dev test` runs those that were fetched before, and skips the rest.

"""


def outcome(key: str, facts: dict, partita: str, cache: pathlib.Path) -> tuple[str, str, list[str]]:
    """"passed", "skipped" or "failed"; why; what was done."""
    test = client.HERE / key / f"{key}_test.py"
    if not test.exists():
        return "not run", facts["reason"], []
    arguments = [partita, str(cache)] if key != "nvidia_ml_py" else [partita, str(SOURCE), str(cache / key)]
    if key == "nvidia_ml_py":
        (cache / key).mkdir(parents=True, exist_ok=True)
    done = subprocess.run([sys.executable, str(test), *arguments], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    did = [line[5:] for line in lines if line.startswith("did: ")]
    if done.returncode == 0:
        return "passed", "", did or [line for line in lines if line]
    if done.returncode == client.SKIP:
        reason = cache / key / "reason"
        why = reason.read_text().strip() if reason.exists() else lines[-1].removeprefix("skipped: ")
        return "skipped", re.sub(r"https?://\S+?(?=:? |$)", "its registry", why), did
    print(done.stdout + done.stderr)
    return "failed", lines[-1] if lines else f"ended with {done.returncode}", did


def main() -> int:
    partita, cache = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    rows, details, failed = [], [], False
    for key, facts in client.known_clients().items():
        name = facts.get("name", key)
        result, why, did = outcome(key, facts, partita, cache)
        failed |= result == "failed"
        print(f"{name} {facts['version']}: {result}{': ' + why if why else ''}", flush=True)
        rows.append(f"| {name} | {facts['version']} | {facts['from']} | {facts['what']} | {result}{': ' + why if why else ''} |")
        if did:
            details.append(f"## {name} {facts['version']}\n\n" + "".join(f"- {line}\n" for line in did))
    table = "| client | version | from | what it is | result |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
    (SOURCE / "docs/clients.md").write_text(HEAD + table + "\n" + "\n".join(details))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
