#!/usr/bin/env python3
"""schemathesis asks a live daemon what openapi.yaml allows and what it does not: nothing is 5xx, wrong input is refused,
answers are as described.

usage: schemathesis_test.py PARTITA OPENAPI PYTHON_FOLDER

Left out: the check that whatever the schema allows is accepted, because a schema cannot say that there is room, that a
profile exists, or that a layout is still the one that If-Match names.
"""
import json
import os
import pathlib
import subprocess
import sys

import live

EXAMPLES = os.environ.get("PARTITA_SCHEMATHESIS_EXAMPLES", "15")


def main() -> int:
    partita, document, python = sys.argv[1:4]
    os.environ["PATH"] = f"{pathlib.Path(python) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    program = live.need("schemathesis", "./dev extras installs it")
    live.need("openssl", "install openssl")
    if os.geteuid() != 0:
        live.skip("needs root: the token acts as root")
    with live.daemon(partita, "dgx-a100") as daemon:
        status, text = daemon.ask("POST", "/v1/apply", {
            "mig_parted": {"version": "v1", "mig-configs": {
                "a": [{"devices": "all", "mig-enabled": True, "mig-devices": {"1g.5gb": 7}}]}}})
        assert status == 200, text
        result = subprocess.run(
            [program, "run", document, "--url", f"https://127.0.0.1:{daemon.port}", "--tls-verify", daemon.certificate,
             "-H", f"Authorization: Bearer {daemon.token}", "--max-examples", EXAMPLES, "--seed", "1", "--phases",
             "examples,coverage,fuzzing", "--exclude-checks", "positive_data_acceptance", "--request-timeout", "30"],
            cwd=daemon.folder, env=daemon.env)
        status, text = daemon.ask("GET", "/v1/gpus")
        assert status == 200 and len(json.loads(text)["gpus"]) == 8, text
        if daemon.process.poll() is not None:
            print("the daemon ended")
            return 1
        ended = daemon.stop()
        return result.returncode or ended


if __name__ == "__main__":
    sys.exit(main())
