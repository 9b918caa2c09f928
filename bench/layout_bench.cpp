// Reading: a mig-parted file of 10,000 labels, the catalog with one board, a name, a label for 8 GPUs.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "catalog/catalog.h"
#include "layout/layout.h"
#include "layout/mig_parted_file.h"
#include "layout/profile_name.h"

namespace partita {
namespace {

std::string file_of(int labels) {
  std::string text = "version: v1\nmig-configs:\n";
  for (int i = 0; i < labels; ++i)
    text += fmt::format(
        "  layout-{}:\n    - devices: [0, 1, 2, 3]\n      device-filter: [\"0x20B010DE\", \"0x20F110DE\"]\n"
        "      mig-enabled: true\n      mig-devices:\n        \"1g.5gb\": 2\n        \"2g.10gb\": 1\n"
        "        \"3g.20gb\": 1\n    - devices: [4]\n      mig-enabled: false\n",
        i);
  return text;
}

layout::NodeState dgx() {
  auto catalog = catalog::Catalog::open();
  layout::NodeState node;
  for (int i = 0; i < 8; ++i) {
    layout::Gpu gpu;
    gpu.index = i;
    gpu.uuid = fmt::format("GPU-{}", i);
    gpu.board = catalog.value().board("a100-sxm4-40gb").value();
    gpu.pci_device_id = 0x20B010DE;
    gpu.mode = layout::MigMode{true, true};
    node.gpus.push_back(std::move(gpu));
  }
  return node;
}

void read_labels(benchmark::State& state) {
  const std::string text = file_of(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(layout::read_mig_parted(text, "f").value());
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(read_labels)->Arg(10)->Arg(10'000)->Unit(benchmark::kMillisecond);

void open_catalog_and_one_board(benchmark::State& state) {
  for (auto _ : state) {
    auto catalog = catalog::Catalog::open();
    benchmark::DoNotOptimize(catalog.value().board("rtx-pro-6000-server").value());
  }
}
BENCHMARK(open_catalog_and_one_board)->Unit(benchmark::kMicrosecond);

void find_profile(benchmark::State& state) {
  const auto node = dgx();
  for (auto _ : state) benchmark::DoNotOptimize(layout::find_profile(*node.gpus[0].board, "3g.21gb").value());
}
BENCHMARK(find_profile)->Unit(benchmark::kNanosecond);

void resolve_on_8_gpus(benchmark::State& state) {
  const auto node = dgx();
  const auto file = layout::read_mig_parted(file_of(1), "f").value();
  for (auto _ : state) benchmark::DoNotOptimize(layout::resolve(file.labels[0], node, "f").value());
}
BENCHMARK(resolve_on_8_gpus)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace partita
