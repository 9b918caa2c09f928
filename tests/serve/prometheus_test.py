#!/usr/bin/env python3
"""promtool has nothing to say about our metrics, the dashboard and the page name no others, and a real Prometheus scrapes
them from a live daemon.

usage: prometheus_test.py PARTITA SOURCE_FOLDER
"""
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request

import live

CONFIGURATION = """
global: {{scrape_interval: 1s}}
scrape_configs:
  - job_name: partita
    scheme: https
    tls_config: {{ca_file: {certificate}}}
    authorization: {{credentials: {token}}}
    static_configs: [{{targets: ["127.0.0.1:{port}"]}}]
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def query(port: int, text: str):
    """The first value, or None where there is none yet."""
    url = f"http://127.0.0.1:{port}/api/v1/query?" + urllib.parse.urlencode({"query": text})
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            found = json.load(answer)["data"]["result"]
    except OSError:
        return None
    return found[0] if found else None


def wait_for(port: int, text: str, patience_s: float = 30):
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if found := query(port, text):
            return found
        time.sleep(0.2)
    raise AssertionError(f"Prometheus never had {text}")


def check_names(metrics: str, source: pathlib.Path):
    """The dashboard asks for what there is, and the page describes all of it."""
    families = set(re.findall(r"^# TYPE (\S+)", metrics, re.MULTILINE))
    asked = set(re.findall(r"partita_[a-z_]+", (source / "packaging/grafana/partita.json").read_text()))
    asked = {re.sub(r"_(bucket|sum|count)$", "", name) for name in asked}
    assert asked <= families, f"the dashboard asks for {asked - families}, which nobody tells"
    described = set(re.findall(r"`(partita_[a-z_]+)", (source / "docs/metrics.md").read_text()))
    # Absent with MIG on.
    assert families <= described, f"docs/metrics.md does not describe {families - described}"
    assert described - families <= {"partita_gpu_utilization_ratio"}, f"nobody tells {described - families}"


def main() -> int:
    how = "./dev extras installs it"
    promtool, prometheus = live.need("promtool", how), live.need("prometheus", how)
    live.need("openssl", "install openssl")
    if os.geteuid() != 0:
        live.skip("needs root: the token acts as root")
    with live.daemon(sys.argv[1], "dgx-a100") as daemon:
        status, text = daemon.ask("POST", "/v1/apply", {
            "mig_parted": {"version": "v1", "mig-configs": {
                "a": [{"devices": "all", "mig-enabled": True, "mig-devices": {"1g.5gb": 7}}]}}})
        assert status == 200, text
        status, text = daemon.ask("POST", "/v1/leases", {"name": "alice", "requirement": {"profile": "1g.5gb"}})
        assert status == 201, text
        status, text = daemon.ask("POST", "/v1/leases", {"requirement": {"profile": "nonsense"}, "no_wait": True})
        assert status in (400, 404), text
        status, metrics = daemon.ask("GET", "/metrics")
        assert status == 200, metrics
        lint = subprocess.run([promtool, "check", "metrics"], input=metrics, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        assert lint.returncode == 0 and not lint.stdout, lint.stdout
        check_names(metrics, pathlib.Path(sys.argv[2]))

        configuration = daemon.folder / "prometheus.yml"
        configuration.write_text(CONFIGURATION.format(certificate=daemon.certificate, token=daemon.token, port=daemon.port))
        port = free_port()
        scraper = subprocess.Popen(
            [prometheus, f"--config.file={configuration}", f"--storage.tsdb.path={daemon.folder / 'tsdb'}",
             f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            labels = wait_for(port, 'partita_mig_sm_share_ratio{lease="alice"}')["metric"]
            assert labels["GPU_I_PROFILE"] == "1g.5gb" and labels["mig_uuid"].startswith("MIG-"), labels
            assert labels["UUID"].startswith("GPU-") and labels["GPU_I_ID"] and labels["holder"] == "root", labels
            assert abs(float(query(port, 'partita_mig_sm_share_ratio{lease="alice"}')["value"][1]) - 14 / 108) < 1e-9
            assert query(port, 'partita_leases{state="active"}')["value"][1] == "1"
            assert float(query(port, "sum(partita_refusals_total)")["value"][1]) >= 1
            assert query(port, "count(partita_gpu_sms)")["value"][1] == "8"
        finally:
            scraper.terminate()
            scraper.wait(timeout=30)
    print("a real Prometheus has our metrics")
    return 0


if __name__ == "__main__":
    sys.exit(main())
