#!/usr/bin/env python3
"""docs/emulator.md: every command and example of the page runs, and its two tables are what the command prints. Go and
Rust examples are built by fetch.py and skipped where they are not.

usage: page_test.py PARTITA CACHE [--update]
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

CLIENTS = pathlib.Path(__file__).resolve().parents[1]
PAGE = CLIENTS.parents[1] / "docs/emulator.md"
SAYS = "8 NVIDIA H100 80GB HBM3\n"


class Page:
    def __init__(self, partita: str, cache: str, folder: pathlib.Path):
        self.text, self.partita, self.cache, self.folder = PAGE.read_text(), pathlib.Path(partita).resolve(), pathlib.Path(cache).resolve(), folder
        self.environment = {**os.environ, "PARTITA_EMULATED_ROOT": str(folder / "nodes"),
                            "PATH": f"{self.partita.parent}:{os.environ['PATH']}"}
        self.failed = 0

    def blocks(self, language: str) -> list[str]:
        return re.findall(rf"```{language}\n(.*?)```", self.text, re.DOTALL)

    def run(self, *command: str) -> str:
        done = subprocess.run(command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=240)
        return done.stdout if done.returncode == 0 else f"ended with {done.returncode}: {done.stdout}{done.stderr}"

    def expect(self, what: str, found: str, expected: str):
        if found == expected:
            print(f"did: {what}")
            return
        self.failed += 1
        print(f"{what}: expected {expected!r}, found {found!r}")

    def on_node(self, *command: str) -> str:
        return self.run("partita", "emulate", "dgx-h100", "--", *command)

    def shell(self):
        for block in self.blocks("sh"):
            for line in block.splitlines():
                found = self.run("bash", "-c", line)
                self.expect(line, "" if not found.startswith("ended with") else found, "")

    def python(self):
        counts, in_tests = self.blocks("python")
        interpreter = self.cache / "nvitop/bin/python"  # it has pynvml
        if interpreter.exists():
            self.expect("the Python example", self.on_node(str(interpreter), "-c", counts), SAYS)
        else:
            print("left out: the Python example, for nvidia-ml-py is not fetched")
        self.expect("the Python test", self.run(sys.executable, "-c", in_tests), "2 NVIDIA A30\n")

    def c(self):
        if not shutil.which("cc"):
            print("left out: the C example, for there is no C compiler")
            return
        (self.folder / "example.c").write_text(self.blocks("c")[0])
        self.expect("cc", self.run("cc", "-Wall", "-Werror", "example.c", "-o", "example", "-ldl"), "")
        self.expect("the C example", self.on_node("./example"), SAYS)

    def built(self, language: str, source: str, program: str):
        self.expect(f"the {language} example is what is built", self.blocks(language)[0], (CLIENTS / source).read_text())
        path = self.cache / program
        if path.exists():
            self.expect(f"the {language} example", self.on_node(str(path)), SAYS)
        else:
            print(f"left out: the {language} example, for it is not built")

    def tables(self, update: bool):
        coverage = json.loads(self.run("partita", "emulate", "coverage", "-o", "json"))
        missing = [function["name"] for function in coverage["functions"] if not function["implemented"]]
        made = {"partita emulate fault --catalogue": self.run("partita", "emulate", "fault", "--catalogue"),
                "partita emulate coverage": ", ".join(f"`{name}`" for name in missing) + "\n"}
        for command, text in made.items():
            begin, end = self.text.index(f"<!-- {command} -->\n") + len(f"<!-- {command} -->\n"), None
            end = self.text.index("<!-- end -->", begin)
            if update:
                self.text = self.text[:begin] + "\n" + text + "\n" + self.text[end:]
                PAGE.write_text(self.text)
            else:
                self.expect(f"the page has what {command} prints", self.text[begin:end].strip(), text.strip())


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        page = Page(sys.argv[1], sys.argv[2], pathlib.Path(folder))
        page.tables("--update" in sys.argv)
        page.shell()
        page.python()
        page.c()
        page.built("go", "go_nvml/example/main.go", "go_nvml/example")
        page.built("rust", "nvml_wrapper/src/bin/example.rs", "nvml_wrapper/example")
        return 1 if page.failed else 0


if __name__ == "__main__":
    sys.exit(main())
