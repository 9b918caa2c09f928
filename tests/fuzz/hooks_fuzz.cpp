// Any bytes as a hooks file: commands without NUL characters, or an error.
#include "fuzz.h"
#include "layout/mig_parted_file.h"

using namespace partita;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = layout::read_hooks(fuzz::text_of(data, size), "f");
  if (!fuzz::accepted(file)) return 0;
  for (const auto* list : {&file->apply_start, &file->pre_apply_mode, &file->pre_apply_config, &file->apply_exit})
    for (const auto& hook : *list) {
      fuzz::require(!hook.command.empty() && hook.command.find('\0') == std::string::npos, "a command can be run");
      for (const auto& [name, value] : hook.envs)
        fuzz::require(!name.empty() && name.find('=') == std::string::npos, "a variable can be set");
    }
  return 0;
}
