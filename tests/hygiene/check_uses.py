#!/usr/bin/env python3
"""Checks every #include and every link against the may-use table of ARCHITECTURE.md.

usage: check_uses.py SOURCE_DIR
"""
import pathlib
import re
import sys

TEST_EXTRAS = {"catalog", "emulator/control"}
SLOW_HEADERS = ("nlohmann/json.hpp", "CLI/", "httplib")


def may_use_table(architecture: str) -> dict[str, set[str]]:
    table = {}
    for line in architecture.splitlines():
        row = re.match(r"\| `([a-z/]+)` \|.*\|([^|]*)\|$", line)
        if row:
            table[row[1]] = {word.strip() for word in row[2].split(",") if word.strip()}
    return table


def folder_of(path: str, folders) -> str | None:
    parts = path.split("/")
    for depth in (2, 1):
        name = "/".join(parts[:depth])
        if name in folders and len(parts) > depth:
            return name
    return None


def test_extras(folder: str, table) -> set[str]:
    """What tests may use beside what their folder may: the emulated driver, and the neighbours of a part of fleet/."""
    neighbours = {name for name in table if name.startswith("fleet/")} if folder.startswith("fleet/") else set()
    return TEST_EXTRAS | neighbours


def check_includes(src: pathlib.Path, table) -> list[str]:
    wrong = []
    for file in sorted(src.rglob("*")):
        if file.suffix not in {".h", ".cpp", ".in"}:
            continue
        relative = file.relative_to(src).as_posix()
        folder = folder_of(relative, table)
        if folder is None:
            wrong.append(f"src/{relative}: is in no folder of the may-use table")
            continue
        in_test = re.search(r"_test\.cpp$|/test_[a-z_]+\.(h|cpp)$|/test_programs/", relative)
        allowed = table[folder] | {folder} | (test_extras(folder, table) if in_test else set())
        for number, line in enumerate(file.read_text().splitlines(), 1):
            include = re.match(r"\s*#\s*include\s*([\"<])([^\">]+)[\">]", line)
            if not include:
                continue
            written, path = include.groups()
            if written == "<" and file.suffix == ".h" and path.startswith(SLOW_HEADERS):
                wrong.append(f"src/{relative}:{number}: <{path}> costs seconds in every file: include it in a .cpp")
            target = folder_of(path, table)
            if path.endswith(".inc"):  # written by the build
                continue
            if target is None:
                if written == '"':
                    wrong.append(f'src/{relative}:{number}: "{path}" is no path from src/')
            elif target not in allowed:
                wrong.append(f"src/{relative}:{number}: {folder} may not use {target}")
    return wrong


def check_links(src: pathlib.Path, table) -> list[str]:
    wrong = []
    for file in sorted(src.rglob("CMakeLists.txt")):
        folder = file.parent.relative_to(src).as_posix()
        if folder not in table:
            continue
        text = re.sub(r"TEST_LINK[^)]*|target_link_libraries\(partita_test_[^)]*\)|partita_test\([^)]*\)", "", file.read_text())
        for name in re.findall(r"\bpartita_((?:emulator_|fleet_)?[a-z]+)\b(?!\()", text):
            if name in {"component", "test"}:
                continue
            target = name.replace("_", "/")
            if target in table and target != folder and target not in table[folder]:
                wrong.append(f"src/{folder}/CMakeLists.txt: {folder} may not link {target}")
    return wrong


def main() -> int:
    root = pathlib.Path(sys.argv[1])
    table = may_use_table((root / "ARCHITECTURE.md").read_text())
    if len(table) < 10:
        print("ARCHITECTURE.md: the may-use table was not found")
        return 1
    wrong = check_includes(root / "src", table) + check_links(root / "src", table)
    # The check itself must be able to fail.
    if not {"plan"} <= set(table) or "driver" in table["plan"]:
        wrong.append("ARCHITECTURE.md: plan must not use driver")
    print("\n".join(wrong) or f"{len(table)} folders, every include and link allowed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
