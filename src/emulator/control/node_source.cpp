#include "emulator/control/node_source.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "catalog/embedded.h"

namespace partita::emulator {

namespace {

constexpr std::string_view kFolder = "nodes/", kEnding = ".yaml";

std::vector<std::string> known_types() {
  std::vector<std::string> types;
  for (std::string_view path : catalog::embedded_files(kFolder)) {
    path.remove_prefix(kFolder.size());
    if (path.ends_with(kEnding)) types.emplace_back(path.substr(0, path.size() - kEnding.size()));
  }
  return types;
}

}  // namespace

bool is_node_path(std::string_view type) {
  return type.find('/') != std::string_view::npos || type.ends_with(".yaml") || type.ends_with(".yml") ||
         type.ends_with(".json");
}

Result<NodeSource> node_source(std::string_view type) {
  if (is_node_path(type)) {
    std::error_code none;
    const std::filesystem::path path(type);
    std::string text = TRY(read_file(path, 1U << 20));
    return NodeSource{std::filesystem::absolute(path, none).lexically_normal().string(), std::string(type),
                      std::move(text)};
  }
  const std::string file = fmt::format("{}{}{}", kFolder, type, kEnding);
  if (const std::optional<std::string_view> text = catalog::embedded_file(file))
    return NodeSource{std::string(type), file, std::string(*text)};
  const std::vector<std::string> known = known_types();
  return fail(
      ErrorCode::not_found,
      fmt::format("no emulated node and no node type is called {}{}; types: {}; or give the path of a node file",
                  quote(type), did_you_mean(type, known), join(known, ", ")));
}

}  // namespace partita::emulator
