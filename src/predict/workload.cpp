#include "predict/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "catalog/embedded.h"
#include "predict/architecture.h"
#include "predict/workload_file.h"

namespace partita::predict {

namespace {

constexpr std::string_view kFolder = "workloads/";
constexpr int kMaxSequence = 10'000'000;
constexpr YamlLimits kLimits{.max_bytes = 16u << 20};

constexpr std::string_view kRequired[] = {"title", "input"};
constexpr std::string_view kOptional[] = {"name",       "source",    "aliases",        "unit",
                                          "sequence",   "blocks",    "layers",         "input_bytes",
                                          "operations", "published", "saved_elements", "peak_live_elements"};

std::string stem(std::string_view file) {
  file = file.substr(file.find_last_of('/') + 1);
  return std::string(file.substr(0, file.find_last_of('.')));
}

Result<std::string> text_or(const YamlPlace& root, const YamlNode& node, std::string_view key, std::string otherwise) {
  const YamlNode* value = node.find(key);
  if (!value) return otherwise;
  return as_text(root.at(key), *value);
}

// The sequence length to build for: the asked one, or the file's default; 0 where the network has none.
Result<int> read_sequence(const YamlPlace& root, const YamlNode& node, std::optional<int> asked, Workload& workload) {
  constexpr std::string_view kKeys[] = {"default", "max"};
  const YamlNode* value = node.find("sequence");
  if (!value) {
    if (asked)
      return fail(ErrorCode::invalid,
                  fmt::format("workload {}: it has no sequence length to set; leave it out", quote(workload.name)));
    return 0;
  }
  const YamlPlace place = root.at("sequence");
  TRY_VOID(require_keys(place, *value, kKeys, {}));
  const auto max = TRY(as_integer(place.at("max"), *value->find("max"), 1, kMaxSequence));
  workload.has_sequence = true;
  workload.default_sequence = static_cast<int>(TRY(as_integer(place.at("default"), *value->find("default"), 1, max)));
  if (asked && (*asked < 1 || *asked > max))
    return fail(ErrorCode::invalid, fmt::format("workload {}: expected a sequence of 1 to {} tokens, found {}",
                                                quote(workload.name), max, *asked));
  return asked.value_or(workload.default_sequence);
}

Result<void> read_layers(const YamlPlace& root, const YamlNode& node, int sequence, Workload& workload) {
  const YamlNode& input = *node.find("input");
  const Graph graph = TRY(build_graph(root, input, node.find("blocks"), *node.find("layers"), sequence));
  const Shape& shape = graph.shape(0);
  workload.input_bytes_per_sample = shape.elements() * (shape.kind == Shape::Kind::ids ? 8 : 4);
  workload.operations = graph.operations();
  workload.peak_live_elements = graph.peak_live_elements();
  workload.saved_elements = graph.saved_elements();
  return {};
}

Result<void> read_network(const YamlPlace& root, const YamlNode& node, int sequence, Workload& workload) {
  const YamlNode *layers = node.find("layers"), *operations = node.find("operations");
  if ((layers != nullptr) == (operations != nullptr))
    return std::unexpected(yaml_error(root, node, "expected either \"layers\" or \"operations\""));
  if (!layers) return read_operations(root, node, workload);
  for (const std::string_view key : {"saved_elements", "peak_live_elements"})
    if (const YamlNode* value = node.find(key))
      return std::unexpected(yaml_error(root.at(key), *value, "follows from \"layers\"; leave it out"));
  return read_layers(root, node, sequence, workload);
}

Result<Workload> read(const YamlDocument& document, std::optional<int> asked) {
  const YamlPlace root{&document, ""};
  const YamlNode& node = document.root;
  TRY_VOID(require_keys(root, node, kRequired, kOptional));
  Workload out;
  WorkloadHead head = TRY(read_head(document));
  out.name = std::move(head.name);
  out.title = std::move(head.title);
  const int sequence = TRY(read_sequence(root, node, asked, out));
  out.unit = TRY(text_or(root, node, "unit", sequence > 0 ? "sequences" : "images"));
  out.source = TRY(text_or(root, node, "source", ""));
  TRY_VOID(read_network(root, node, sequence, out));
  if (const YamlNode* bytes = node.find("input_bytes"))
    out.input_bytes_per_sample =
        static_cast<double>(TRY(as_integer(root.at("input_bytes"), *bytes, 0, std::int64_t{1} << 40)));
  out.parameters = totals(out.operations).parameters;
  for (const Operation& operation : out.operations) out.parameter_tensors += operation.parameter_tensors;
  return out;
}

Result<YamlDocument> parse_shipped(std::string_view path) {
  const auto text = catalog::embedded_file(path);
  if (!text) return fail(ErrorCode::internal, fmt::format("{} is not part of this program", path));
  return parse_yaml(*text, std::string(path), kLimits);
}

// Letters and digits alone: "ResNet-50" and "resnet_50" are one name.
std::string loose(std::string_view name) {
  std::string out;
  for (char c : lower(name))
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
  return out;
}

// The shipped file of that name or alias, or of the only one that differs in spelling alone; the names otherwise.
std::optional<std::string> find_shipped(std::string_view name, std::vector<std::string>& names) {
  const std::string wanted = loose(name), last = loose(name.substr(name.find_last_of('/') + 1));
  std::vector<std::string> alike;
  for (const std::string_view path : catalog::embedded_files(kFolder)) {
    const auto document = parse_shipped(path);
    if (!document) continue;
    const auto head = read_head(*document);
    if (!head) continue;
    if (head->name == name || std::ranges::find(head->aliases, name) != head->aliases.end()) return std::string(path);
    std::vector<std::string> called = head->aliases;
    called.insert(called.begin(), head->name);
    names.insert(names.end(), called.begin(), called.end());
    called.push_back(head->title);
    const bool same = std::ranges::any_of(called, [&](const std::string& other) {
      const std::string plain = loose(other);
      return !plain.empty() && (plain == wanted || plain == last);
    });
    if (same) alike.emplace_back(path);
  }
  return alike.size() == 1 ? std::optional(alike.front()) : std::nullopt;
}

}  // namespace

Result<WorkloadHead> read_head(const YamlDocument& document) {
  const YamlPlace root{&document, ""};
  TRY_VOID(as_mapping(root, document.root));
  WorkloadHead out;
  out.name = TRY(text_or(root, document.root, "name", stem(document.file)));
  out.title = TRY(text_or(root, document.root, "title", out.name));
  if (const YamlNode* aliases = document.root.find("aliases")) {
    const YamlPlace place = root.at("aliases");
    const auto& items = *TRY(as_sequence(place, *aliases));
    for (const YamlNode& alias : items) out.aliases.push_back(TRY(as_text(place, alias)));
  }
  return out;
}

Result<Workload> read_workload(std::string_view text, const std::string& file, std::optional<int> sequence) {
  return read(TRY(parse_yaml(text, file, kLimits)), sequence);
}

std::vector<WorkloadEntry> shipped_workloads() {
  std::vector<WorkloadEntry> out;
  for (const std::string_view path : catalog::embedded_files(kFolder))
    if (const auto document = parse_shipped(path))
      if (auto head = read_head(*document)) out.push_back({std::move(head->name), std::move(head->title)});
  return out;
}

Result<Workload> shipped_workload(std::string_view name, std::optional<int> sequence) {
  const std::string path = fmt::format("{}{}.yaml", kFolder, name);
  if (catalog::embedded_file(path)) return read(TRY(parse_shipped(path)), sequence);
  std::vector<std::string> names;
  if (const auto found = find_shipped(name, names)) return read(TRY(parse_shipped(*found)), sequence);
  const std::string hint = did_you_mean(name, names);
  return fail(ErrorCode::not_found, fmt::format("no workload {} is shipped{}", quote(name),
                                                hint.empty() ? "; there are " + join(names, ", ") : hint));
}

}  // namespace partita::predict
