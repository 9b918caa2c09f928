#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "predict/validate.h"

namespace partita::predict {
namespace {

constexpr std::string_view kHead = R"(# Prediction: the model and how good it is

Written by `partita predict validate --page docs/prediction.md`; the constants by `partita predict fit`.

A workload is a list of operations at the granularity of an eager framework (`data/workloads/`). Each becomes kernels
with a host cost, multiply-accumulates and bytes. On a partition with SM multiprocessors and a share of the bandwidth:

    c = flop / (peak per SM * SM * efficiency) * (1 + half_k / k) + tail     k: length of the sum; tail: last wave of tiles
    m = bytes / (bandwidth share * efficiency), less where few SMs cannot ask for all of it
    t = (c^3 + m^3)^(1/3) + floor                                           they overlap, not quite
    step: host += launch; device = max(device, host) + t, over all kernels  the host runs ahead
          + batch * input bytes / copy rate, where the copy is timed

Training appends each operation's gradients with their true shapes and the optimizer. A replayed graph (CUDA graphs,
TensorRT) has no host term, folded operations and no layout passes. 8 and 16 bit products slow the clock where the board's
power ends. Memory is context + libraries + copies of the parameters + batch * activations.

Only A100-40GB and A100-80GB are measured. Other boards, 8 and 16 bit products and graphs are extrapolations: they say so
and their intervals are wider.

)";

constexpr std::string_view kFormat = R"(
## Your own data

`partita predict validate FILE.csv` prints these tables for any CSV with a header row of these columns, in any order
(`-o json`: docs/json.md). Empty cells take the default; lines that begin with `#` before the header describe the file.

    board,profile,workload,batch,mode,precision,latency_ms,memory_mib
    a100-sxm4-80gb,7g.80gb,resnet50,32,training,tf32,61.5,9120
    a100-sxm4-80gb,1g.10gb,resnet50,32,training,tf32,410,8050

| column | meaning | also called |
|---|---|---|
| `board` | `a100-sxm4-80gb`, `NVIDIA A100-SXM4-80GB`, `A100 80GB`; needed | `gpu`, `gpu_name`, `device`, `accelerator` |
| `profile` | `3g.40gb`, `3g`, `3`, `1c.3g.40gb`; `whole` (default) for the GPU without MIG | `mig_profile`, `partition`, `instance`, `gpc_slices` |
| `workload` | a shipped workload in any spelling (`ResNet-50`), or the name of a `--workload FILE`; needed | `model`, `network`, `benchmark` |
| `batch` | samples per step (1) | `batch_size`, `bs` |
| `latency_ms` | of one step | `latency_s`, `step_time_us`, `Latency (ms)`, `mean_latency_s` |
| `throughput` | samples/s of all processes and devices together | `images/s`, `samples_per_sec`, `qps`, `throughput_total` |
| `memory_mib` | used on the device | `memory_gib`, `fb_used_mb` (MB and GB mean MiB and GiB), `peak_memory_bytes` |
| `mode` | `inference` (default) or `training` | `task` |
| `sequence` | tokens | `seq_len`, `sequence_length` |
| `precision` | of matrix products and convolutions; `matmul` and `convolution` tell them apart: `fp32` `tf32` (default) `fp16` `bf16` `int8` `fp8` | `dtype` |
| `framework` | `eager_overlapped` (default, `pytorch`), `eager_serial`, `graph` (`tensorrt`, `cuda_graph`) | `runtime`, `backend` |
| `optimizer` | `sgd`, `sgd_momentum`, `adam` (default) | |
| `copy_inside_step` | `true` where the host to device copy is timed | |
| `processes`, `devices` | MPS processes in the partition; identical partitions that `throughput` adds up | `procs`; `partitions`, `instances` |
| `neighbours`, `virtualised` | busy share of the rest of the GPU, 0 to 1; `true` in a VM with vGPU | `neighbors`; `vgpu` |
| `not_run` | `memory` where it did not fit, `other` where not measured | `status`, `oom` |
| `host` | a host of the constants, where the run was part of the fit | |
| `run`, `other_batch_ratio` | ratios are taken within a run; `true` where they compare different batches | |
| `leave_out`, `note` | why a row does not count; free text | |

One of `latency_ms`, `throughput` and `memory_mib` is needed. Columns of other names are not used, and said. A row with an
unknown board, profile or workload is counted and named with its line; where a board's name leaves the form open
(`A100 80GB`: SXM or PCIe) SXM is assumed, and said. A cell that is no number, or a word that is none of these, is an error.

`--set COLUMN=VALUE` gives all rows what the file does not say: `--set board=a100-sxm4-80gb --set precision=fp16`.
`--workload FILE` adds your own network (a workload file, as `partita-onnx` writes it). `--mapping FILE` renames columns
and applies rules, in order; a `when` asks the file's own columns:

    columns: {workload: arch, latency_s: t_batch}
    rules:
      - {set: {framework: graph, precision: int8}}
      - {when: {gpu: [A100-40, A100-40G]}, set: {board: a100-sxm4-40gb}}
      - {when: {arch: junk}, drop: true}
)";

void add_table(std::string& out, std::string_view title, const std::vector<Errors>& rows, bool intervals) {
  if (rows.empty()) return;
  out += fmt::format("\n| {} | rows | mean % | median % | p90 % |{}\n|---|---:|---:|---:|---:|{}\n", title,
                     intervals ? " inside the 90 % interval |" : "", intervals ? "---:|" : "");
  for (const Errors& e : rows) {
    out += fmt::format("| {} | {} | {:.1f} | {:.1f} | {:.1f} |", e.name, e.rows, 100 * e.mean, 100 * e.median,
                       100 * e.p90);
    if (intervals) out += e.inside ? fmt::format(" {:.0f} % |", 100 * *e.inside) : " |";
    out += "\n";
  }
}

void add_worst(std::string& out, std::string_view title, const std::vector<WorstRow>& rows) {
  if (rows.empty()) return;
  out += fmt::format("\n| {} | line | measured /s | predicted /s | error % |\n|---|---:|---:|---:|---:|\n", title);
  for (const WorstRow& row : rows) {
    std::string what = row.left_out.empty() ? row.what : fmt::format("{} ({})", row.what, row.left_out);
    out += fmt::format("| {} | {} | {:.4g} | {:.4g} | {:.0f} |\n", what, row.line, row.measured, row.predicted,
                       100 * row.error);
  }
}

// Rows that cannot be used, each reason with its first lines.
void add_unusable(std::string& out, const std::vector<Skipped>& skipped) {
  bool first = true;
  for (const Skipped& each : skipped) {
    if (each.lines.empty()) continue;
    bool all = static_cast<std::size_t>(each.rows) == each.lines.size();
    out += fmt::format("{}- {} not used: {} ({} {}{})\n", first ? "\n" : "",
                       count_of(static_cast<std::size_t>(each.rows), "row"), each.reason,
                       each.rows == 1 ? "line" : "lines", fmt::join(each.lines, ", "), all ? "" : ", ...");
    first = false;
  }
}

void add_set(std::string& out, const SetReport& r) {
  out += fmt::format("\n## {}\n\n{} ({} rows count", r.title, r.name, r.rows);
  for (const Skipped& each : r.skipped) {
    if (each.lines.empty()) out += fmt::format("; {} left out: {}", each.rows, each.reason);
  }
  out += ").\n";
  add_unusable(out, r.skipped);
  for (const std::string& assumed : r.assumed) out += fmt::format("\nAssumed: {}.\n", assumed);
  if (!r.unused_columns.empty()) out += fmt::format("\nColumns not used: {}.\n", join(r.unused_columns, ", "));
  if (r.rows == 0) out += "\nNo row counts: there is nothing to compare.\n";
  add_table(out, "throughput", r.time, true);
  add_table(out, "ratio to the largest partition", r.ratio, false);
  if (r.four_over_three) {
    out += fmt::format("\nMedian 4g over 3g at the same batch: predicted {:.3f}, measured {:.3f}.\n",
                       r.four_over_three->first, r.four_over_three->second);
  }
  add_table(out, "other profiles from two", r.two_points, true);
  add_table(out, "memory", r.memory, true);
  if (r.fit_answers > 0) {
    out += fmt::format("\nFits or not: {} of {} right ({:.1f} %) outside 10 % of the capacity; {} uncertain inside.\n",
                       r.fit_right, r.fit_answers, 100.0 * r.fit_right / r.fit_answers, r.fit_uncertain);
  }
  add_table(out, "by workload", r.by_workload, true);
  add_table(out, "by profile", r.by_profile, true);
  add_table(out, "ratio by profile", r.ratio_by_profile, false);
  add_worst(out, "worst rows", r.worst);
  add_worst(out, "rows left out, predicted all the same", r.left_out);
}

void add_constants(std::string& out, const Constants& constants) {
  out += fmt::format(
      "\n## Constants\n\nFitted on {}.\n\n| constant | value | ± | unit | meaning | source |\n"
      "|---|---:|---:|---|---|---|\n",
      constants.fitted_on);
  for (const KeyInfo& info : key_table()) {
    double error = constants.standard_error[static_cast<std::size_t>(info.key)];
    out += fmt::format("| {} | {:.4g} | {} | {} | {} | {} |\n", info.name, constants[info.key],
                       info.fitted ? fmt::format("{:.2g}", error) : "", info.unit == "1" ? "" : info.unit, info.meaning,
                       info.fitted ? "fit" : fmt::format("prior: {}", info.source));
  }
  out += "\n| host | launch factor | extra reads of weights | more context MiB |\n|---|---:|---:|---:|\n";
  for (const Host& host : constants.hosts) {
    out += fmt::format("| {} | {:.3f} | {:.1f} | {:.0f} |\n", host.name, host.launch_factor, host.weight_passes,
                       host.context_mib);
  }
}

}  // namespace

std::string to_markdown(const std::vector<SetReport>& reports) {
  std::string out =
      "An error is |predicted / measured throughput - 1|. *One point* calibrates with the largest partition at its "
      "largest\n"
      "batch, *three points* also with its smallest batch and the smallest partition at its largest batch; those rows "
      "do "
      "not\ncount. Each set is measured against the constants below, which come from the first set alone.\n";
  for (const SetReport& report : reports) add_set(out, report);
  return out;
}

std::string prediction_page(const std::vector<SetReport>& reports, const Constants& constants) {
  std::string out{kHead};
  out += to_markdown(reports);
  out += kFormat;
  add_constants(out, constants);
  return out;
}

}  // namespace partita::predict
