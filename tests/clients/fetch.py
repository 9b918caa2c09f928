#!/usr/bin/env python3
"""Installs the clients of clients.toml, each in a folder of its own. What cannot be had is told, and its test skips.

usage: fetch.py FOLDER [CLIENT...]
"""
import os
import pathlib
import shutil
import subprocess
import sys

import client


def run(command: list[str], where: pathlib.Path, **environment: str) -> str:
    """"" when it went well, else why not."""
    if not shutil.which(command[0]):
        return f"{command[0]} is not installed"
    try:
        done = subprocess.run(command, cwd=where, env={**os.environ, **environment}, capture_output=True, text=True, timeout=3000)
    except subprocess.TimeoutExpired:
        return f"{command[0]} did not end in time"
    if done.returncode == 0:
        return ""
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return " ".join(lines[-2:]) if lines else f"{command[0]} ended with {done.returncode}"


def install(facts: dict, source: pathlib.Path, folder: pathlib.Path) -> str:
    if "pip" in facts:
        return (run([sys.executable, "-m", "venv", str(folder)], folder)
                or run([str(folder / "bin/python"), "-m", "pip", "install", "--quiet", *facts["pip"]], folder))
    for package in facts.get("go", []):
        if why := run(["go", "install", package], folder, GOBIN=str(folder), GOFLAGS="-mod=mod"):
            return why
    for program in facts.get("build_go", []):
        if why := run(["go", "build", "-o", f"{folder}/", "."], source / program):
            return why
    if "build_cargo" in facts:  # in a copy, for cargo writes beside the sources
        shutil.copytree(source, folder / "source")
    for program in facts.get("build_cargo", []):
        if why := run(["cargo", "build", "--release", "--bin", program], folder / "source"):
            return why
        shutil.copy(folder / "source/target/release" / program, folder)
    return ""


def main() -> int:
    folder, names = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    for key, facts in client.known_clients().items():
        if (names and key not in names) or not ({"pip", "go", "build_go", "build_cargo"} & facts.keys()):
            continue
        own, name = folder / key, f"{facts.get('name', key)} {facts['version']}"
        stamp = own / "version"
        if stamp.exists() and stamp.read_text().strip() == facts["version"]:
            print(f"{name}: is there")
            continue
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir(parents=True)
        why = install(facts, client.HERE / key, own)
        if why:
            shutil.rmtree(own)
            own.mkdir()
            (own / "reason").write_text(f"{why}\n")
        else:
            stamp.write_text(facts["version"] + "\n")
        print(f"{name}: {why or 'installed'}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
