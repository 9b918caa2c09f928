#include "emulator/control/node_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>
#include <span>

#include "base/text.h"
#include "base/yaml.h"
#include "emulator/control/bus_id.h"
#include "emulator/control/driver_names.h"
#include "emulator/control/node_faults.h"
#include "emulator/engine/engine.h"

namespace partita::emulator {

namespace {

constexpr std::string_view kDefaultDriver = "580.95.05";

// A node of the tree and where it is.
struct At {
  YamlPlace place;
  const YamlNode* node;
};

// The member called `key`, if it is there.
std::optional<At> member(const At& parent, std::string_view key) {
  const YamlNode* node = parent.node->find(key);
  if (!node) return std::nullopt;
  return At{parent.place.at(key), node};
}

// A key that require_keys() has seen.
At required(const At& at, std::string_view key) { return member(at, key).value_or(at); }

std::unexpected<Error> wrong(const At& at, std::string_view message) { return yaml_fail(at.place, *at.node, message); }

bool is_version(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789.") == std::string_view::npos && text.front() != '.' &&
         text.back() != '.' && text.find("..") == std::string_view::npos && text.size() < 32;
}

Result<std::string> read_version(const At& at, std::string_view example) {
  const std::string text = TRY(as_text(at.place, *at.node));
  if (!is_version(text))
    return wrong(at, fmt::format("expected a version such as \"{}\", found {}", example, quote(text)));
  return text;
}

Result<std::uint32_t> read_hex(const At& at, std::uint32_t most, std::string_view example) {
  const std::string text = TRY(as_text(at.place, *at.node));
  std::uint32_t value = 0;
  const std::string_view digits = text.starts_with("0x") ? std::string_view(text).substr(2) : std::string_view();
  const auto [end, status] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (digits.empty() || status != std::errc{} || end != digits.data() + digits.size() || value > most)
    return wrong(at, fmt::format("expected a number such as {}, found {}", example, quote(text)));
  return value;
}

Result<Bytes> read_bytes(const At& at) {
  const std::string text = TRY(as_text(at.place, *at.node));
  const Result<Bytes> bytes = parse_bytes(text);
  if (!bytes) return wrong(at, bytes.error().message);
  if (*bytes < mib(1)) return wrong(at, fmt::format("expected at least 1 MiB with a unit, found {}", quote(text)));
  return *bytes;
}

Result<int> read_int(const At& at, int min, int max) {
  return static_cast<int>(TRY(as_integer(at.place, *at.node, min, max)));
}

Result<bool> read_mig(const At& at) {
  const std::string text = TRY(as_text(at.place, *at.node));
  if (text != "enabled" && text != "disabled")
    return wrong(at, fmt::format("expected enabled or disabled, found {}", quote(text)));
  return text == "enabled";
}

// The CUDA version that a driver branch brings (CUDA Toolkit release notes, table of toolkit and driver versions).
std::string cuda_of(std::string_view driver) {
  static constexpr std::array<std::pair<int, std::string_view>, 13> kBranches = {{{590, "13.1"},
                                                                                  {580, "13.0"},
                                                                                  {575, "12.9"},
                                                                                  {570, "12.8"},
                                                                                  {560, "12.6"},
                                                                                  {555, "12.5"},
                                                                                  {550, "12.4"},
                                                                                  {545, "12.3"},
                                                                                  {535, "12.2"},
                                                                                  {530, "12.1"},
                                                                                  {525, "12.0"},
                                                                                  {470, "11.4"},
                                                                                  {0, "11.0"}}};
  const int branch = driver_branch(driver);
  for (const auto& [from, cuda] : kBranches)
    if (branch >= from) return std::string(cuda);
  return "11.0";
}

Result<std::vector<std::string>> read_bus_ids(const At& at, int count) {
  std::vector<std::string> ids;
  for (std::size_t i = 0; const YamlNode& item : *TRY(as_sequence(at.place, *at.node))) {
    const At here{at.place.at(i++), &item};
    const std::string text = TRY(as_text(here.place, item));
    const std::optional<std::string> id = normal_bus_id(text);
    if (!id) return wrong(here, fmt::format("expected a PCI bus id such as \"07:00.0\", found {}", quote(text)));
    ids.push_back(*id);
  }
  if (ids.size() != static_cast<std::size_t>(count))
    return wrong(at, fmt::format("expected {}, one for each GPU, found {}",
                                 count_of(static_cast<std::size_t>(count), "bus id"), ids.size()));
  return ids;
}

Result<std::vector<ProfileOverride>> read_profiles(const At& at) {
  static constexpr std::array<std::string_view, 2> kKeys = {"spelling", "memory"};
  TRY_VOID(as_mapping(at.place, *at.node));
  std::vector<ProfileOverride> profiles;
  for (const auto& [name, node] : at.node->members) {
    const At here{at.place.at(name), &node};
    TRY_VOID(require_keys(here.place, node, {}, kKeys));
    ProfileOverride profile{name, {}, {}, node.line};
    if (const auto key = member(here, "spelling")) {
      profile.spelling = TRY(as_text(key->place, *key->node));
      if (profile.spelling->empty() || profile.spelling->size() > 32)
        return wrong(*key, "expected a profile name of at most 32 characters");
    }
    if (const auto key = member(here, "memory")) profile.memory = TRY(read_bytes(*key));
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

Result<PlainGpu> read_plain(const At& at) {
  PlainGpu gpu;
  const At product = required(at, "product"), device = required(at, "device");
  gpu.product = TRY(as_text(product.place, *product.node));
  if (gpu.product.empty() || gpu.product.size() > 95) return wrong(product, "expected a name of 1 to 95 characters");
  gpu.pci_device = static_cast<std::uint16_t>(TRY(read_hex(device, 0xffff, "0x2E12")));
  if (const auto key = member(at, "compute_capability")) {
    const std::string text = TRY(as_text(key->place, *key->node));
    const std::vector<std::string> parts = split(text, '.');
    const auto digits = [](const std::string& part) {
      return !part.empty() && part.size() <= 2 && part.find_first_not_of("0123456789") == std::string::npos;
    };
    if (parts.size() != 2 || !digits(parts[0]) || !digits(parts[1]))
      return wrong(*key, fmt::format("expected a compute capability such as \"12.1\", found {}", quote(text)));
    gpu.compute_capability_major = std::stoi(parts[0]);
    gpu.compute_capability_minor = std::stoi(parts[1]);
  }
  if (const auto key = member(at, "architecture")) {
    static const std::vector<std::string> kKnown = {"pascal", "volta",  "turing",   "ampere",
                                                    "ada",    "hopper", "blackwell"};
    gpu.architecture = TRY(as_text(key->place, *key->node));
    if (std::ranges::find(kKnown, gpu.architecture) == kKnown.end())
      return wrong(*key, fmt::format("expected one of {}, found {}", join(kKnown, ", "), quote(gpu.architecture)));
  }
  if (const auto key = member(at, "sm")) gpu.sm = TRY(read_int(*key, 1, 1024));
  return gpu;
}

Result<void> require_gpu_keys(const At& at) {
  static constexpr std::array<std::string_view, 1> kBoard = {"board"};
  static constexpr std::array<std::string_view, 9> kBoardOptional = {
      "count", "pci", "subsystem", "mig", "mirrored", "reset_group", "nvlinks", "total_memory", "profiles"};
  static constexpr std::array<std::string_view, 2> kPlain = {"product", "device"};
  static constexpr std::array<std::string_view, 7> kPlainOptional = {
      "count", "pci", "subsystem", "total_memory", "compute_capability", "architecture", "sm"};
  TRY_VOID(as_mapping(at.place, *at.node));
  if (at.node->find("product")) return require_keys(at.place, *at.node, kPlain, kPlainOptional);
  return require_keys(at.place, *at.node, kBoard, kBoardOptional);
}

Result<NodeGpus> read_gpus(const At& at) {
  TRY_VOID(require_gpu_keys(at));
  NodeGpus gpus;
  gpus.line = at.node->line;
  if (const auto key = member(at, "board")) {
    gpus.line = key->node->line;
    gpus.board = TRY(as_text(key->place, *key->node));
  } else {
    gpus.plain = TRY(read_plain(at));
  }
  if (const auto key = member(at, "count")) gpus.count = TRY(read_int(*key, 1, kMaxGpus));
  if (const auto key = member(at, "pci")) gpus.bus_ids = TRY(read_bus_ids(*key, gpus.count));
  if (const auto key = member(at, "subsystem")) gpus.subsystem = TRY(read_hex(*key, 0xffffffff, "0x134F10DE"));
  if (const auto key = member(at, "mig")) gpus.mig_enabled = TRY(read_mig(*key));
  if (const auto key = member(at, "mirrored")) gpus.mirrored = TRY(as_bool(key->place, *key->node));
  if (const auto key = member(at, "reset_group")) gpus.reset_group = TRY(read_int(*key, 0, kMaxGpus));
  if (const auto key = member(at, "nvlinks")) gpus.nvlinks = TRY(read_int(*key, 0, 18));
  if (const auto key = member(at, "total_memory")) gpus.total_memory = TRY(read_bytes(*key));
  if (const auto key = member(at, "profiles")) gpus.profiles = TRY(read_profiles(*key));
  return gpus;
}

Result<void> check_whole(const At& gpus_at, const NodeFile& file) {
  int total = 0;
  std::set<std::string> seen;
  for (std::size_t i = 0; i < file.gpus.size(); ++i) {
    const At here{gpus_at.place.at(i), &gpus_at.node->items[i]};
    total += file.gpus[i].count;
    for (const std::string& id : file.gpus[i].bus_ids)
      if (!seen.insert(id).second) return wrong(here, fmt::format("bus id {} is there twice", id));
  }
  if (total < 1 || total > kMaxGpus)
    return wrong(gpus_at, fmt::format("expected 1 to {} GPUs in all, found {}", kMaxGpus, total));
  return {};
}

}  // namespace

bool is_node_name(std::string_view name) {
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && name.size() <= 63 && plain(name.front()) &&
         std::ranges::all_of(name, [&](char c) { return plain(c) || c == '.' || c == '_' || c == '-'; });
}

Result<NodeFile> read_node_file(std::string_view text, const std::string& file_name) {
  static constexpr std::array<std::string_view, 1> kRequired = {"gpus"};
  static constexpr std::array<std::string_view, 6> kOptional = {"source", "name",      "driver",
                                                                "cuda",   "vgpu_host", "faults"};
  const YamlDocument document = TRY(parse_yaml(text, file_name, {.max_bytes = 1U << 20, .max_nodes = 20'000}));
  const At root{{&document, ""}, &document.root};
  TRY_VOID(as_mapping(root.place, *root.node));
  TRY_VOID(require_keys(root.place, *root.node, kRequired, kOptional));
  NodeFile file;
  file.file = file_name;
  if (const auto key = member(root, "source")) TRY_VOID(as_text(key->place, *key->node));
  if (const auto key = member(root, "name")) {
    file.name = TRY(as_text(key->place, *key->node));
    if (!is_node_name(*file.name))
      return wrong(
          *key, fmt::format("expected a name of a-z, 0-9, '.', '_' and '-', at most 63, found {}", quote(*file.name)));
  }
  file.driver = kDefaultDriver;
  if (const auto key = member(root, "driver")) file.driver = TRY(read_version(*key, kDefaultDriver));
  if (const auto key = member(root, "vgpu_host")) file.vgpu_host = TRY(as_bool(key->place, *key->node));
  file.cuda = cuda_of(file.driver);
  if (const auto key = member(root, "cuda")) file.cuda = TRY(read_version(*key, "13.0"));
  const At gpus = required(root, "gpus");
  for (std::size_t i = 0; const YamlNode& item : *TRY(as_sequence(gpus.place, *gpus.node)))
    file.gpus.push_back(TRY(read_gpus(At{gpus.place.at(i++), &item})));
  TRY_VOID(check_whole(gpus, file));
  if (const auto key = member(root, "faults")) file.faults = TRY(read_faults(key->place, *key->node));
  return file;
}

}  // namespace partita::emulator
