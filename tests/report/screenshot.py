#!/usr/bin/env python3
"""A page of reports in headless Chromium: every figure is drawn, nothing is said on the console, nothing is fetched, and the
pictures (light, dark, printed in grey) are not blank. The pictures stay in FOLDER, to be looked at.

usage: screenshot.py REPORT_SAMPLE FOLDER
"""
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

SKIPPED = 77
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--hide-scrollbars", "--enable-logging=stderr",
]


def browse(chromium: str, page: pathlib.Path, *flags: str) -> str:
    """Runs Chromium on a page with a fresh profile; what it printed, or an AssertionError with the console's words."""
    with tempfile.TemporaryDirectory() as profile:
        command = [chromium, *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False)
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert done.returncode == 0, f"chromium failed: {done.stderr[-2000:]}"
    assert not console, "said on the console:\n" + "\n".join(console)
    return done.stdout


def ink(png: pathlib.Path) -> float:
    """Share of a picture's lines that are not of one colour. Filtered lines of a flat picture hold hardly anything but zeros."""
    data = png.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", f"{png} is no PNG"
    width, height, _, colours = struct.unpack(">IIBB", data[16:26])
    packed, at = b"", 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at:at + 4])
        if data[at + 4:at + 8] == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += size + 12
    lines = zlib.decompress(packed)
    stride = 1 + width * {0: 1, 2: 3, 6: 4}[colours]
    full = sum(stride - lines[row * stride:(row + 1) * stride].count(0) > 16 for row in range(height))
    return full / height


def check_all_drawn(dom: str) -> int:
    charts = dom.count('class="chart"')
    said = re.search(r'<html[^>]*data-figures="([^"]*)"', dom)
    assert said and said.group(1) == f"drawn {charts} of {charts}", f"{charts} figures; the page says {said and said.group(1)}"
    return charts


def check_drawn(dom: str) -> None:
    charts = check_all_drawn(dom)
    figures = re.findall(r'<div class="chart".*?(?=</figure>)', dom, re.S)
    assert len(figures) == charts > 6, f"{len(figures)} figures in the page"
    for figure in figures:
        marks = len(re.findall(r"<(?:rect|path|circle)\b", figure))
        assert marks > 6 and "NaN" not in figure, f"a figure of {marks} marks: {figure[:400]}"
        assert re.search("simulated|predicted|measured|input", figure), f"a figure without its kind: {figure[:400]}"
    blocks = re.findall(r'<div class="block [^"]*" style="left:([\d.]+)%;width:([\d.]+)%', dom)
    assert len(blocks) > 15 and all(float(left) + float(width) < 100.01 for left, width in blocks), f"blocks beside their row: {blocks}"
    assert "<script>alert" not in dom.replace('<script type="application/json"', "").split("partita-data")[0], "a name became a script"


# Moves over each figure from left to right, as a mouse would, until it says something; keeps that.
# (Without a screen there are no animation frames to wait for: a timer stands in for them.)
POINT = """<script>window.requestAnimationFrame = (draw) => setTimeout(draw, 1);
window.cancelAnimationFrame = clearTimeout;
addEventListener("load", async () => {
  const frame = () => new Promise((done) => setTimeout(done, 40));
  const words = (svg) => [...svg.querySelectorAll("[aria-label=tip]")].map((tip) => tip.textContent).join("");
  const said = [];
  for (const svg of document.querySelectorAll(".chart > svg")) {
    const box = svg.getBoundingClientRect();
    for (let step = 2; step < 20 && !words(svg); ++step) {
      const at = {bubbles: true, clientX: box.x + box.width * step / 20, clientY: box.y + box.height * 0.4};
      for (const kind of ["pointerenter", "pointermove"]) svg.dispatchEvent(new PointerEvent(kind, at));
      await frame();
    }
    said.push(words(svg) || "nothing");
  }
  document.body.dataset.said = said.join("|");
});</script></body>"""


def check_values_on_demand(dom: str, charts: int) -> None:
    said = re.search(r'data-said="([^"]*)"', dom)
    texts = said.group(1).split("|") if said else []
    assert len(texts) == charts, f"{len(texts)} of {charts} figures were pointed at"
    for text in texts:
        assert re.search(r"\((simulated|predicted|measured|input)\).*: [0-9n]", text), f"a figure that is pointed at says: {text}"


def main() -> int:
    sample, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    chromium = next(filter(None, map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])), None)
    if not chromium:
        print("skipped: no chromium on this machine")
        return SKIPPED
    folder.mkdir(parents=True, exist_ok=True)
    page, edges, printed = (folder / name for name in ("sample.html", "edges.html", "sample-print.html"))
    subprocess.run([sample, str(page), str(edges)], check=True)
    html = page.read_text(encoding="utf-8")
    assert "@media print" in html, "the page has no print style"
    # The print style on a screen, without colour: what a grey printer makes of it.
    printed.write_text(html.replace("@media print", "@media screen").replace("</style>", "html{filter:grayscale(1)}</style>", 1),
                       encoding="utf-8")

    check_drawn(browse(chromium, page, "--window-size=1000,1200", "--dump-dom"))
    assert check_all_drawn(browse(chromium, edges, "--dump-dom")) > 20, "the page of edges has few figures"
    pointed = folder / "sample-pointed.html"
    pointed.write_text(html.replace("</body>", POINT), encoding="utf-8")
    check_values_on_demand(browse(chromium, pointed, "--window-size=1000,1200", "--virtual-time-budget=20000", "--dump-dom"), html.count('class="chart"'))
    pictures = {}
    for name, source, size, flags in [
        ("light", page, "1000,6900", ["--blink-settings=preferredColorScheme=1"]),
        ("dark", page, "1000,6900", ["--blink-settings=preferredColorScheme=0"]),
        ("narrow", page, "500,7500", []),
        ("print-grey", printed, "720,6100", []),
    ]:
        picture = folder / f"report-{name}.png"
        picture.unlink(missing_ok=True)
        browse(chromium, source, f"--window-size={size}", *flags, f"--screenshot={picture}")
        share = ink(picture)
        assert share > 0.3, f"{picture} is nearly blank: {share:.0%} of its lines hold anything"
        pictures[name] = picture.read_bytes()
        print(f"{picture}: {share:.0%} of the lines hold something")
    assert len(set(pictures.values())) == len(pictures), "two of the pictures are the same"
    pdf = folder / "report.pdf"
    browse(chromium, page, "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    assert pdf.read_bytes().startswith(b"%PDF") and pdf.stat().st_size > 30_000, f"{pdf} is no printed page"
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as error:
        print(error)
        sys.exit(1)
