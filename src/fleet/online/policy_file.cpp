#include "fleet/online/policy_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"
#include "base/yaml.h"
#include "catalog/embedded.h"

namespace partita::fleet {

namespace {

constexpr std::size_t kMostSource = 100'000;
constexpr YamlLimits kLimits{.max_bytes = 1u << 20, .max_nodes = 10'000, .max_depth = 4};

Result<YamlDocument> parsed(std::string_view text, const std::string& file) {
  auto document = TRY(parse_yaml(text, file, kLimits));
  const YamlPlace root{&document, ""};
  constexpr std::array<std::string_view, 2> required{"version", "weights"};
  constexpr std::array<std::string_view, 1> optional{"source"};
  TRY_VOID(require_keys(root, document.root, required, optional));
  TRY_VOID(require_version(root, document.root, "v1"));
  TRY_VOID(as_mapping(YamlPlace{&document, "weights"}, *document.root.find("weights")));
  return document;
}

bool fits(const YamlDocument& document, const Features& features) {
  const auto& weights = *document.root.find("weights");
  return weights.members.size() == features.names().size() &&
         std::ranges::all_of(features.names(), [&](const auto& name) { return weights.find(name) != nullptr; });
}

Result<Potential> weights_of(const YamlDocument& document, const Features& features) {
  const YamlPlace place{&document, "weights"};
  const auto& weights = *document.root.find("weights");
  for (const auto& member : weights.members)
    if (std::ranges::find(features.names(), member.first) == features.names().end())
      return yaml_fail(place.at(member.first), member.second,
                       "is no feature of this board: weights are for boards with the same placements");
  Potential out;
  for (const auto& name : features.names()) {
    const auto* weight = weights.find(name);
    if (weight == nullptr)
      return yaml_fail(place, weights, fmt::format("expected a weight for \"{}\", found none", name));
    const double value = TRY(as_number(place.at(name), *weight));
    constexpr double kMost = 1e6;
    if (std::abs(value) > kMost)
      return yaml_fail(place.at(name), *weight,
                       fmt::format("expected a number from {} to {}, found {}", -kMost, kMost, value));
    out.weights.push_back(value);
  }
  return out;
}

}  // namespace

Result<Potential> read_weights(std::string_view text, const std::string& file, const Features& features) {
  return weights_of(TRY(parsed(text, file)), features);
}

std::string write_weights(const Features& features, const Potential& potential, const std::string& source) {
  std::string out = "version: v1\nsource: \"";
  for (const char c : one_line(source, kMostSource)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += "\"\n";
  out += "weights:\n";
  for (std::size_t i = 0; i < features.names().size(); ++i)
    out += fmt::format("  {}: {}\n", features.names()[i], potential.weights[i]);
  return out;
}

Result<Potential> shipped_weights(const Features& features) {
  for (const auto path : catalog::embedded_files("policies/")) {
    const auto text = catalog::embedded_file(path).value_or(std::string_view{});
    const auto document = TRY(parsed(text, std::string(path)));
    if (fits(document, features)) return weights_of(document, features);
  }
  return fail(ErrorCode::not_found,
              "no weights are shipped for boards with these placements: partita policy tune makes some");
}

}  // namespace partita::fleet
