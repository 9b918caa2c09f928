#!/usr/bin/env python3
"""The Debian package has what it should, and the command in it runs from wherever it is unpacked.

usage: package_test.py BUILD_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile

import live

EXPECTED = [
    "usr/bin/partita",
    "usr/lib/partita/emulator/libnvidia-ml.so.1",
    "usr/lib/systemd/system/partita.service",
    "usr/share/bash-completion/completions/partita",
    "usr/share/doc/partita/copyright",
    "usr/share/doc/partita/examples/policy.yaml",
    "usr/share/fish/vendor_completions.d/partita.fish",
    "usr/share/man/man1/partita.1",
    "usr/share/partita/grafana/partita.json",
    "usr/share/partita/openapi.yaml",
    "usr/share/zsh/site-functions/_partita",
]


def output(*command) -> str:
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout


def main() -> int:
    for program in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "file"):
        live.need(program, "install dpkg-dev and file")
    build = pathlib.Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="partita-package-") as folder:
        folder = pathlib.Path(folder)
        output("cpack", "-G", "DEB", "--config", build / "CPackConfig.cmake", "-B", folder)
        package = next(folder.glob("partita_*.deb"))
        fields = output("dpkg-deb", "-f", package)
        for library in ("libc6", "libssl3", "libsqlite3-0", "libcpp-httplib0.11"):
            assert library in fields, fields
        root = folder / "root"
        output("dpkg-deb", "-x", package, root)
        missing = [path for path in EXPECTED if not (root / path).exists()]
        assert not missing, missing
        assert output(root / "usr/bin/partita", "--version").startswith("partita "), "no version"
        unit = (root / "usr/lib/systemd/system/partita.service").read_text()
        for line in ("Type=notify", "Delegate=yes", "KillMode=process"):
            assert line in unit, unit
    print(f"{package.name} is complete")
    return 0


if __name__ == "__main__":
    sys.exit(main())
