#include <algorithm>

#include "api/json.h"
#include "base/text.h"
#include "cli/common.h"
#include "cli/draw/draw.h"
#include "cli/verbs/run.h"

namespace partita::cli {
namespace {

bool is_called(const layout::Gpu& gpu, const std::string& word) {
  const auto lowered = lower(word);
  return word == std::to_string(gpu.index) || lowered == lower(gpu.uuid) || lowered == lower(gpu.pci_bus_id) ||
         (lowered.size() >= 7 && lower(gpu.pci_bus_id).ends_with(lowered));
}

// Leaves only the GPUs asked for, in the node's order.
Result<void> select(std::vector<layout::Gpu>& gpus, const std::vector<std::string>& words) {
  if (words.empty()) return {};
  for (const auto& word : words)
    if (std::ranges::none_of(gpus, [&](const auto& gpu) { return is_called(gpu, word); })) {
      std::vector<std::string> details;
      for (const auto& gpu : gpus)
        details.push_back(std::to_string(gpu.index) + "  " + gpu.uuid + "  " + gpu.pci_bus_id);
      return fail(ErrorCode::not_found, "no GPU \"" + word + "\" on this node; it has", std::move(details));
    }
  std::erase_if(gpus, [&](const auto& gpu) {
    return std::ranges::none_of(words, [&](const auto& word) { return is_called(gpu, word); });
  });
  return {};
}

}  // namespace

Result<int> run_status(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto session = TRY(open_session(parsed));
  auto answer = TRY(session->node->status());
  const auto gpu_count = answer.state.gpus.size();
  TRY_VOID(select(answer.state.gpus, parsed.all("gpu")));
  if (format == Format::table)
    TRY_VOID(print(draw_status(output_look(parsed), answer, parsed.flag("verbose") || parsed.flag("gpu"), gpu_count)));
  else
    TRY_VOID(print_json(format, api::to_json(answer)));
  return 0;
}

}  // namespace partita::cli
