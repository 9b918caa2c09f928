#!/usr/bin/env python3
"""Runs *.case files: what a verb does, prints and returns, on emulated nodes of its own.

A case file begins with comment lines (#) that say what it shows, then has sections:

    --- foreign         the case loads the emulated library into a program that is not Partita's (which cannot be done
                        with a sanitized one)
    --- file NAME       a file in the case's folder
    --- given           shell lines that set things up; they must succeed
    --- daemon ARGS     "partita ARGS serve" runs from here on; at the end of the case SIGTERM must end it with 0
    --- run             shell lines whose outcome is checked; may be repeated, each with its own expectations
    --- exit            the exit status (0 when the section is missing)
    --- stdout          what is printed, exactly (nothing when the section is missing)
    --- stderr          the same

In stdout and stderr a line "..." stands for any number of lines, "..." in a line for any text, and <GPU-UUID>,
<MIG-UUID>, <GPU>, <PID>, <DIR> and <N> for what changes from run to run. The folder is <DIR>, the nodes are in
<DIR>/nodes. Processes that a case starts are ended with it.

    run.py --partita build/release/bin/partita [--update] [--jobs N] [--foreign only|without] [NAME...]

--update writes what was found into the files, to be read before it is committed.
"""
import argparse
import concurrent.futures
import difflib
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HEX = r"[0-9a-f]"
UUID = rf"{HEX}{{8}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}"
PLACEHOLDERS = {
    "<GPU-UUID>": rf"GPU-{UUID}",
    "<MIG-UUID>": rf"MIG-{UUID}",
    "<GPU>": rf"GPU-{HEX}{{8}}",
    "<PID>": r"\d+",
    "<N>": r"\d+",
}
SECTIONS = ("foreign", "file", "given", "daemon", "run", "exit", "stdout", "stderr")
TIMEOUT_S = 60


class Step:
    def __init__(self):
        self.sections = {}  # kind -> (first line, end line) of its text in the file's lines


class Case:
    def __init__(self, path):
        self.path = path
        self.lines = path.read_text(encoding="utf-8").splitlines()
        self.foreign = False
        self.files = []  # (name, text)
        self.steps = []  # ("given", text), ("daemon", arguments) or ("run", Step)
        self.read()

    def read(self):
        starts = [i for i, line in enumerate(self.lines) if line.startswith("--- ")] + [len(self.lines)]
        if any(line.strip() and not line.startswith("#") for line in self.lines[: starts[0]]):
            raise ValueError(f"{self.path}: text before the first section is no comment")
        for start, end in zip(starts, starts[1:]):
            kind, _, name = self.lines[start][4:].strip().partition(" ")
            if kind not in SECTIONS:
                raise ValueError(f"{self.path}:{start + 1}: no section \"{kind}\"")
            text = "".join(line + "\n" for line in self.lines[start + 1 : end])
            if kind == "foreign":
                self.foreign = True
            elif kind == "file":
                self.files.append((name, text))
            elif kind == "given":
                self.steps.append(("given", text))
            elif kind == "daemon":
                self.steps.append(("daemon", name.split()))
            elif kind == "run":
                step = Step()
                step.sections["run"] = (start + 1, end)
                self.steps.append(("run", step))
            else:
                if not self.steps or self.steps[-1][0] != "run":
                    raise ValueError(f"{self.path}:{start + 1}: {kind} without a run")
                if kind in self.steps[-1][1].sections:
                    raise ValueError(f"{self.path}:{start + 1}: {kind} twice for one run")
                self.steps[-1][1].sections[kind] = (start + 1, end)
        if not any(kind == "run" for kind, _ in self.steps):
            raise ValueError(f"{self.path}: no run")

    def text(self, step, kind):
        if kind not in step.sections:
            return ""
        start, end = step.sections[kind]
        return "".join(line + "\n" for line in self.lines[start:end])


def environment(partita, folder):
    kept = {key: os.environ[key] for key in ("TMPDIR", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS") if key in os.environ}
    return kept | {
        "PATH": f"{partita.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "HOME": str(folder),
        "PARTITA_EMULATED_ROOT": str(folder / "work" / "nodes"),
        "XDG_STATE_HOME": str(folder / "state"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }


def execute(script, folder, variables, groups):
    """Runs shell lines in a session of their own; processes they leave behind are ended by the caller."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(
            ["bash", "-c", script], cwd=folder / "work", env=variables, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True
        )
        groups.append(process.pid)
        try:
            status = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            status = f"still running after {TIMEOUT_S} s"
        out.seek(0)
        err.seek(0)
        return status, out.read().decode("utf-8", "replace"), err.read().decode("utf-8", "replace")


def start_daemon(partita, arguments, folder, variables, groups):
    """Returns the process once it serves."""
    process = subprocess.Popen(
        [partita, *arguments, "serve"], cwd=folder / "work", env=variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    groups.append(process.pid)
    line = process.stdout.readline()
    if not line.startswith("partita serves "):
        raise RuntimeError(f"the daemon does not serve: {line}{process.stdout.read()}")
    return process


def end_daemon(process):
    """What is wrong with its end."""
    process.terminate()
    try:
        out, _ = process.communicate(timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return ["the daemon still runs after SIGTERM"]
    return [] if process.returncode == 0 else [f"the daemon ended with {process.returncode}:", out]


def end_groups(groups):
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except ProcessLookupError:
            pass


def line_pattern(line, folder):
    out = ""
    for part in re.split(r"(\.\.\.|<GPU-UUID>|<MIG-UUID>|<GPU>|<PID>|<N>|<DIR>)", line):
        if part == "...":
            out += ".*"
        elif part == "<DIR>":
            out += re.escape(str(folder / "work"))
        else:
            out += PLACEHOLDERS.get(part, re.escape(part))
    if "<PID>" in line:  # how many digits a pid has moves what is beside it
        out = re.sub(r"(\\ ){2,}", r"\\ +", out)
    return re.compile(out)


def matches(expected, found, folder):
    """Expected lines against found ones; "..." alone takes any number."""
    patterns = [None if line == "..." else line_pattern(line, folder) for line in expected]
    reachable = {0}
    for i, pattern in enumerate(patterns):
        if pattern is None:
            reachable = set(range(min(reachable), len(found) + 1)) if reachable else set()
        else:
            reachable = {at + 1 for at in reachable if at < len(found) and pattern.fullmatch(found[at])}
    return len(found) in reachable


def generalised(text, folder):
    text = text.replace(str(folder / "work"), "<DIR>")
    text = re.sub(rf"GPU-{UUID}", "<GPU-UUID>", text)
    text = re.sub(rf"MIG-{UUID}", "<MIG-UUID>", text)
    text = re.sub(rf"GPU-{HEX}{{8}}\b", "<GPU>", text)
    text = re.sub(r"\bpid \d+", "pid <PID>", text)
    return re.sub(r"([│|].*\bsleep) \d+", r"\1 <PID>", text)


def check(case, step, status, out, err, folder):
    problems = []
    wanted = case.text(step, "exit").strip() or "0"
    if str(status) != wanted:
        problems.append(f"exit: expected {wanted}, found {status}")
    for kind, found in (("stdout", out), ("stderr", err)):
        expected = case.text(step, kind).splitlines()
        while expected and not expected[-1]:
            expected.pop()
        lines = found.splitlines()
        while lines and not lines[-1]:
            lines.pop()
        if not matches(expected, lines, folder):
            problems += difflib.unified_diff(expected, lines, f"{kind} expected", f"{kind} found", lineterm="", n=30)
    return problems


def updated(case, step, status, out, err, folder, replacements):
    """Notes the text that the sections of a step should have; returns nothing, the caller writes the file."""
    body = [] if status == 0 else ["--- exit", str(status)]
    for kind, found in (("stdout", out), ("stderr", err)):
        if found:
            body += [f"--- {kind}", *generalised(found, folder).rstrip("\n").splitlines()]
    end = max(last for _, last in step.sections.values())
    replacements.append((step.sections["run"][1], end, body))


def run_case(path, partita, update):
    case = Case(path)
    problems, groups, replacements, daemons = [], [], [], []
    folder = pathlib.Path(tempfile.mkdtemp(prefix="partita-case-"))
    try:
        (folder / "work").mkdir()
        for name, text in case.files:
            (folder / "work" / name).write_text(text, encoding="utf-8")
        variables = environment(partita, folder)
        for kind, step in case.steps:
            if kind == "given":
                status, out, err = execute("set -e\n" + step, folder, variables, groups)
                if status != 0:
                    problems.append(f"given failed with {status}:\n{step}{out}{err}")
                    break
                continue
            if kind == "daemon":
                daemons.append(start_daemon(partita, step, folder, variables, groups))
                continue
            status, out, err = execute(case.text(step, "run"), folder, variables, groups)
            if update:
                updated(case, step, status, out, err, folder, replacements)
            else:
                found = check(case, step, status, out, err, folder)
                if found:
                    problems += [f"run: {case.text(step, 'run').strip()}", *found]
        for process in daemons:
            problems += end_daemon(process)
    except RuntimeError as error:
        problems.append(str(error))
    finally:
        end_groups(groups)
        shutil.rmtree(folder, ignore_errors=True)
    for start, end, body in reversed(replacements):
        case.lines[start:end] = body
    if replacements:
        path.write_text("".join(line + "\n" for line in case.lines), encoding="utf-8")
    return problems


def main():
    parser = argparse.ArgumentParser(description="runs *.case files")
    parser.add_argument("--partita", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--foreign", choices=["only", "without"])
    parser.add_argument("names", nargs="*", help="only cases whose name has one of these")
    options = parser.parse_args()
    if not os.access(options.partita, os.X_OK):
        sys.exit(f"run.py: no program {options.partita}")
    paths = [p for p in sorted(HERE.glob("*.case")) if not options.names or any(name in p.stem for name in options.names)]
    if options.foreign:
        paths = [p for p in paths if Case(p).foreign == (options.foreign == "only")]
    if not paths:
        sys.exit("run.py: no case matches")
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for path, problems in zip(paths, pool.map(lambda p: run_case(p, options.partita, options.update), paths)):
            print(f"{'FAILED' if problems else 'ok    '} {path.stem}", flush=True)
            for problem in problems:
                print("    " + problem.replace("\n", "\n    "))
            failed += bool(problems)
    print(f"{len(paths)} cases, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
