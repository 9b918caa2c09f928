// Any bytes as a layout file: what is read can be written and read again, and every label resolves or says why not.
#include "fuzz.h"
#include "fuzz_node.h"
#include "layout/mig_parted_file.h"

using namespace partita;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const layout::NodeState node = fuzz::make_node();
  const auto file = layout::read_mig_parted(fuzz::text_of(data, size), "f");
  if (!fuzz::accepted(file)) return 0;
  const std::string text = layout::write_mig_parted(*file);
  const auto again = layout::read_mig_parted(text, "g");
  fuzz::require(again.has_value(), "what is written can be read");
  fuzz::require(layout::write_mig_parted(*again) == text, "written again it is the same");
  for (const auto& label : file->labels) {
    const auto target = layout::resolve(label, node, "f");
    if (!fuzz::accepted(target)) continue;
    for (const auto& gpu : target->gpus)
      fuzz::require(!gpu.instances || gpu.instances->size() <= 8, "at most 8 instances on a GPU");
  }
  return 0;
}
