#!/usr/bin/env python3
"""Writes data/boards/*.yaml, data/boards/index.yaml, data/driver_rules.yaml and data/sources.yaml from a table of
hardware facts in JSON (and the additions below).

    tools/generate_boards.py FACTS.json [DATA_FOLDER]

The files in data/ are what the program reads; this tool is run again only when the facts change.
"""
import json
import os
import re
import sys

HEAD = "# Made by tools/generate_boards.py. Source tags are explained in data/sources.yaml; they hold for each row that\n" \
       "# names no other. confidence: verified = two independent sources; single = one; inferred = from a sibling.\n"

# Boards the facts lack. GB10 has no MIG; kept so that a node of it is shown and explained like any other.
GB10 = {
    "id": "gb10", "product": "NVIDIA GB10", "pci": ["0x2E12"], "chip": "GB20B", "mig": {"family": "blackwell-gfx"},
    "total_memory_mib": None, "nominal_gb": 128, "src": ["DS"], "profiles": [],
    "note": "no MIG; 128 GB LPDDR5X shared with the CPU, so the driver reports no memory of its own; chip name inferred",
    "specs": {"sm_count": 48, "tdp_w": 140, "fp32_tflops": 31, "fp4_tensor_tflops": 500, "memory_bandwidth_gbs": 273,
              "l2_mib": 24, "compute_capability": "12.1", "confidence": "partly confirmed",
              "confirmed_fields": ["fp32_tflops", "fp4_tensor_tflops", "l2_mib", "tdp_w"], "sources": ["HC25", "DS"]},
}

# Figures of the whole board that the facts lack.
MORE_SPECS = {
    "rtx-6000d": {"sm_count": 156, "tdp_w": 600, "fp32_tflops": 99.6, "memory_bandwidth_gbs": 1568,
                  "confidence": "single", "confirmed_fields": ["sm_count", "tdp_w"], "sources": ["D6000"]},
    "rtx-pro-5000": {"fp4_tensor_tflops": 1032, "sources": ["PUREPC", "DS", "HMC5000"]},
    "rtx-pro-4500": {"fp4_tensor_tflops": 879, "sources": ["DS", "HMC5000"]},
    "h100-sxm5-96gb": {"memory_bandwidth_gbs": 3350, "sources": ["DS"]},
    "h100-sxm5-94gb": {"memory_bandwidth_gbs": 2400, "sources": ["DS"]},
}
MORE_NOTES = {
    "rtx-6000d": "bandwidth from its 448 of 512 bits, fp32 from its 156 of 188 SM, both of RTX PRO 6000; tensor peaks not found",
    "h100-sxm5-96gb": "bandwidth as the 80 GB board's, not confirmed",
    "h100-sxm5-94gb": "HBM2e: bandwidth from memory, not confirmed",
}
MORE_SOURCES = {
    "HC25": "reports on NVIDIA's GB10 talk at Hot Chips 2025 (ggmania.com, ferra.ru): 31 TFLOPS fp32, 1 PFLOPS sparse NVFP4, 24 MB L2, 140 W",
    "D6000": "pages on the RTX 6000D (takechance.work, pepelac.news, weeklypost.kr): 156 SM, 448 bits, 84 GB, 600 W",
    "HMC5000": "hmc-tech.com RTX PRO 4500 page (879 dense fp4 TFLOPS); RTX PRO 5000: 2064 sparse TOPS of NVIDIA (grokipedia.com)",
}

MIN_DRIVER = {  # by id prefix, first match; from the facts' min_drivers, "" where that has no row for the board
    "a100": "A100", "a30": "A30", "h100-sxm5-80": "H100", "h100-pcie": "H100", "h100-": "H100", "h200": "H200",
    "h20-": "H20", "b200": "B200, GB200", "gb200": "B200, GB200", "b300": "B300", "rtx-pro-6000": "RTX PRO 6000",
    "rtx-pro-5000": "RTX PRO 5000", "rtx-pro-4500": "RTX PRO 4500", "gb300": "GB300 Station, Thor",
}

# vGPU name -> keys of the limit tables (MIG-backed, time-sliced), and whether the table names the board itself.
A40, A80 = ("A100 / A100X (40GB)", "A100 / A100X / A800 (40GB)"), (
    "A100D / A100DX, H100, H100XM, A800D/DX, H800/XM (80GB)", "A100D / A100DX / A800D / A800DX (80GB)")
H80, H94 = (A80[0], "H100 / H100XM (80GB)"), ("H100L / H100XL / H800L (94GB)", "H100L / H100XL (94GB)")
H141, H96 = ("H200 / H200X / H20X (141GB)",) * 2, ("H20 (96GB)",) * 2
LIMITS = {"A100X": A40, "A100": A40, "A800": A40, "A100DX": A80, "A100D": A80, "A800DX": A80, "A800D": A80,
          "A30": ("A30", "A30"), "H100XM": H80, "H100": H80, "H100L": H94, "H100XL": H94, "H200X": H141, "H200": H141,
          "H20X": H141, "H20": H96}


def scalar(value):
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return json.dumps(value)
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 ._+/|=-]*", value) and not value.endswith(" ")
    number = re.fullmatch(r"[0-9.eE+-]+|0x[0-9A-Fa-f]+", value)
    return value if plain and not number and value not in ("null", "true", "false") else json.dumps(value)


def flow(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(flow(v) for v in value) + "]"
    return scalar(value)


def wrapped(fields, indent, width=118):
    """A flow mapping's fields, broken into lines at `width`."""
    lines, line = [], ""
    for key, value in fields.items():
        part = f"{key}: {flow(value)}"
        if line and len(indent) + len(line) + len(part) + 2 > width:
            lines.append(line)
            line = ""
        line += (" " if line else "") + part + ","
    lines.append(line[:-1])
    return ("\n" + indent).join(lines)


def known(fields):
    return {k: v for k, v in fields.items() if v is not None and v != [] and v != ""}


def compute_rows(profile):
    """As the facts give them; where they give none: 1c and the full size, inferred."""
    if profile["compute_instances"]:
        return [known({"name": c["name"], "nvml_profile": c["nvml_enum"], "compute_slices": c["ci_slices"],
                       "sm": c["sm"], "max_instances": c["max_instances"], "placement_size": c["placement_size"],
                       "placements": c["placements"], "is_default": c["default"] or None,
                       "confidence": c["confidence"]}) for c in profile["compute_instances"]]
    slices, number = profile["compute_slices"], {1: 0, 2: 1, 3: 2, 4: 3, 7: 4}
    rows = []
    if slices > 1:
        rows.append({"name": "1c." + profile["name"], "nvml_profile": 0, "compute_slices": 1, "max_instances": slices,
                     "placement_size": 1, "placements": list(range(slices)), "confidence": "inferred"})
    rows.append({"name": profile["name"], "nvml_profile": number[slices], "compute_slices": slices, "max_instances": 1,
                 "placement_size": slices, "placements": [0], "is_default": True, "confidence": "inferred"})
    return rows


def profile_row(board, p):
    assumed = p["placements"] is None
    size = p["placement_size"] or p["memory_slices"]
    starts = p["placements"] if not assumed else list(range(0, board["mig"]["memory_slices"], size))
    attributes = [{"-me": "no_me", "me.all": "me_all"}.get(a, a) for a in p["attributes"]]
    note = p["note"] or ""
    if p["gfx"] and "gfx" not in attributes:
        note += ("; " if note else "") + "owns graphics"
    head = known({"name": p["name"], "nvml_profile": p["nvml_enum"], "id": p["smi_id"], "attributes": attributes,
                  "compute_slices": p["compute_slices"], "memory_slices": p["memory_slices"],
                  "max_instances": p["max_instances"], "memory_mib": p["memory_mib"],
                  "also_seen_gib": p["memory_gib_other_drivers"], "sm": p["sm"], "sm_estimate": p["sm_estimate"],
                  "engines": known({"copy": p["ce"], "decoder": p["dec"], "encoder": p["enc"], "jpeg": p["jpeg"],
                                    "ofa": p["ofa"]}) or None,
                  "placement_size": size, "placements": starts, "driver_order": p["default_order"] or starts,
                  "placements_assumed": True if assumed else None, "confidence": p["confidence"], "note": note})
    rows = ",\n".join("       " + flow(r) for r in compute_rows(p))
    return "  - {" + wrapped(head, "     ") + ",\n     compute: [\n" + rows + "]}\n"


def vgpu_rows(board, facts):
    vgpu, rows, seen = facts["vgpu"], [], set()
    by_flag = {p["rm_partition_flag"]: p["name"] for p in board["profiles"] if p.get("rm_partition_flag")}
    for t in vgpu["mig_backed_types"]:
        if t["pci"] not in board["pci"] or (t["name"], t["vgpu_type_id"]) in seen:
            continue
        seen.add((t["name"], t["vgpu_type_id"]))
        family, suffix = re.fullmatch(r"\S+ (.*?)-(\d+-\d+\w*)", t["name"]).groups()
        limit = next((r for r in vgpu["mig_backed_limits"].get(LIMITS.get(family, ("",))[0], [])
                      if r["type"] == suffix), {})
        rows.append(known({"name": t["name"], "id": t["vgpu_type_id"], "mig_backed": True,
                           "profile": backing(board, t, by_flag), "frame_buffer_mib": limit.get("fb_mib"),
                           "max_per_gpu": limit.get("max_per_gpu"),
                           "confidence": "inferred" if limit and family == "A800" else None}))
    for t in vgpu["time_sliced_types"]:
        if t["pci"] not in board["pci"] or (t["name"], None) in seen:
            continue
        seen.add((t["name"], None))
        family, suffix = re.fullmatch(r"\S+ (.*?)-(\d+\w+)", t["name"]).groups()
        limit = next((r for r in vgpu["time_sliced_limits"].get(LIMITS.get(family, ("", ""))[1], [])
                      if r["type"] == suffix), {})
        known_ids = {"A100": "A100 PCIe 40GB", "A100D": "A100D PCIe 80GB"}.get(family)
        rows.append(known({"name": t["name"], "id": vgpu["time_sliced_type_ids_known"].get(known_ids, {}).get(suffix),
                           "mig_backed": False, "frame_buffer_mib": limit.get("fb_mib"),
                           "max_per_gpu": limit.get("max_equal_size"), "max_per_gpu_mixed": limit.get("max_mixed_size")}))
    return rows


def normal_flag(flag):
    return frozenset(f.strip().removesuffix("=ENABLE").replace("GFX_SIZE=", "GFX_") for f in flag.split("|"))


def backing(board, vgpu_type, by_flag):
    """The GPU instance profile that a MIG-backed type needs: the one with the same partition flag, if there is one."""
    wanted = normal_flag(vgpu_type["rm_flags"])
    return next((name for flag, name in by_flag.items() if normal_flag(flag) == wanted), None)


SPECS = ["sm_count", "boost_mhz", "tdp_w", "fp64_tflops", "fp64_tensor_tflops", "fp32_tflops", "tf32_tensor_tflops",
         "fp16_tensor_tflops", "fp8_tensor_tflops", "fp4_tensor_tflops", "int8_tensor_tops", "memory_bandwidth_gbs",
         "l2_mib", "compute_capability", "confidence", "confirmed_fields", "sources"]


def min_driver(board, facts):
    what = next((w for prefix, w in MIN_DRIVER.items() if board["id"].startswith(prefix)), None)
    text = next((r["driver"] for r in facts["min_drivers"] if r["what"] == what), "")
    return re.findall(r"[0-9][0-9.]*", text)[-1] if text else ""


def board_text(board, facts):
    mig, notes = board["mig"], [board.get("note"), board.get("spec_note"), board.get("total_memory_note")]
    out = HEAD
    out += f"id: {board['id']}\nproduct: {json.dumps(board['product'])}\n"
    out += f"pci_devices: [{', '.join(json.dumps(p) for p in board['pci'])}]\n"
    out += f"chip: {scalar(board['chip'])}\nfamily: {mig['family']}\nnominal_gb: {board['nominal_gb']}\n"
    if board["total_memory_mib"] is not None:
        out += f"total_memory_mib: {board['total_memory_mib']}\n"
    if board.get("bar1_mib"):
        out += f"bar1_mib: {flow(board['bar1_mib'])}\n"
    if min_driver(board, facts):
        out += f"min_driver: \"{min_driver(board, facts)}\"\n"
    out += f"sources: {flow(board['src'])}\n"
    if any(notes):
        out += f"note: {json.dumps('; '.join(n for n in notes if n))}\n"
    if board["profiles"]:
        grid = mig["placement_units"] or mig["memory_slices"]
        out += "mig: " + flow({"placement_units": grid, "compute_slices": mig["compute_slices"],
                               "memory_slices": mig["memory_slices"],
                               "mode_change_needs_reset": mig["mig_enable_needs_reset"],
                               "mode_survives_reboot": mig["mig_mode_persists_reboot"]}
                              | known({"copy_engines": board.get("copy_engines_in_mig")})) + "\n"
    specs = known({k.replace("_gbs", "_gb_per_s"): board["specs"].get(k) for k in SPECS})
    if "confirmed_fields" in specs:
        specs["confirmed_fields"] = [f.replace("_gbs", "_gb_per_s") for f in specs["confirmed_fields"]]
    out += "# Whole GPU, dense peaks.\nspecs:\n  {" + wrapped(specs, "   ") + "}\n"
    out += "profiles:" + (" []\n" if not board["profiles"] else "\n")
    out += "".join(profile_row(board, p) for p in board["profiles"])
    rows = vgpu_rows(board, facts)
    out += "vgpu_types:" + (" []\n" if not rows else "\n") + "".join(f"  - {flow(r)}\n" for r in rows)
    return out


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        facts = json.load(file)
    data = sys.argv[2] if len(sys.argv) == 3 else os.path.join(os.path.dirname(__file__), "..", "data")
    os.makedirs(os.path.join(data, "boards"), exist_ok=True)
    boards = facts["gpus"] + [GB10]
    for board in boards:
        board["specs"] |= MORE_SPECS.get(board["id"], {})
        if board["id"] in MORE_NOTES:
            for key in ("note", "spec_note"):
                board[key] = (board.get(key) or "").replace("; bandwidth not found", "").replace("bandwidth not found", "")
            board["note"] = "; ".join(n for n in (board["note"], MORE_NOTES[board["id"]]) if n)
    index = "# All boards, so that one is found without reading the others. Source: the board files, by tools/generate_boards.py.\nboards:\n"

    def write(path, text):
        with open(os.path.join(data, path), "w", encoding="utf-8") as file:
            file.write(text)

    for board in boards:
        write(f"boards/{board['id']}.yaml", board_text(board, facts))
        index += "  - {id: %s, product: %s, pci_devices: [%s]}\n" % (
            board["id"], json.dumps(board["product"]), ", ".join(json.dumps(p) for p in board["pci"]))
    write("boards/index.yaml", index)
    rules = "# What the driver does and demands, with source and confidence; and the oldest driver for each board or profile.\nrules:\n"
    rules += "".join(f"  - {{{wrapped(r, '     ')}}}\n" for r in facts["rules"])
    rules += "min_drivers:\n" + "".join("  - " + flow(r) + "\n" for r in facts["min_drivers"])
    rules += "limitations:\n" + "".join(f"  - {{{wrapped(r, '     ')}}}\n" for r in facts["limitations"])
    write("driver_rules.yaml", rules)
    write("sources.yaml", "# The source tags used in data/.\nsources:\n" + "".join(
        f"  {tag}: {json.dumps(what)}\n" for tag, what in (facts["sources"] | MORE_SOURCES).items()))


if __name__ == "__main__":
    main()
