#include "fleet/files/fleet_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "base/yaml.h"
#include "fleet/exact/by_name.h"
#include "fleet/schedule/yaml_words.h"

namespace partita::fleet {

namespace {

constexpr YamlLimits kYaml{.max_bytes = 64u << 20, .max_nodes = 4'000'000, .max_depth = 12};
constexpr std::int64_t kMostNodes = 1'000'000;
constexpr std::int64_t kMostPerNode = 64;
constexpr std::array<std::string_view, 2> kFileKeys{"version", "fleet"};

// Plans are proven to within a millionth: steps far above that leave nothing open.
bool sound_price(double price) {
  const double steps = price * 10'000;
  return price >= 0.01 && price <= 1e6 && std::abs(steps - std::round(steps)) < 1e-4;
}

// What makes kinds alike; open ones come last.
using KindKey = std::tuple<const catalog::Board*, std::vector<Occupant>, double, bool>;
KindKey key_of(const Kind& kind, bool open) { return {kind.board.get(), kind.state, kind.price, open}; }

class Reader {
 public:
  Reader(catalog::Catalog& catalog, FleetFile& into) : catalog_(catalog), into_(into) {
    for (const auto& group : into.groups) {
      groups_.emplace(group.name, !group.live.empty());
      for (const auto& gpu : group.live) uuids_.insert(gpu.uuid);
    }
    for (std::size_t k = 0; k < into.fleet.kinds.size(); ++k) {
      const auto& kind = into.fleet.kinds[k];
      kinds_.emplace(key_of(kind, !kind.count), k);
      gpus_ += kind.count.value_or(0);
    }
  }

  Result<void> described(const YamlPlace& root, const YamlNode& node) {
    TRY_VOID(require_keys(root, node, kFileKeys, {}));
    TRY_VOID(require_version(root, node, "v1"));
    const auto place = root.at("fleet");
    const auto* list = TRY(as_sequence(place, *node.find("fleet")));
    if (list->empty()) return yaml_fail(place, *node.find("fleet"), "expected at least one group of nodes, found none");
    for (std::size_t i = 0; i < list->size(); ++i) TRY_VOID(group(place.at(i), (*list)[i]));
    return {};
  }

  Result<void> live(const YamlPlace& root, const YamlNode& node) {
    NodeGroup out;
    if (const auto* name = node.find("node"); name != nullptr && name->kind == YamlNode::Kind::scalar)
      out.name = name->text;
    if (out.name.empty()) out.name = fmt::format("node-{}", into_.groups.size() + 1);
    TRY_VOID(own_name(root, node, out.name, true));
    out.nodes = 1;
    const auto place = root.at("gpus");
    const auto* list = TRY(as_sequence(place, *node.find("gpus")));
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto kind = TRY(live_gpu(place.at(i), (*list)[i]));
      if (!kind) continue;
      out.kinds.push_back(add_kind(*kind, 1));
      out.live.push_back(TRY(live_facts(place.at(i), (*list)[i], static_cast<int>(i))));
    }
    if (out.kinds.empty()) return yaml_fail(place, *node.find("gpus"), "expected GPUs that can be cut, found none");
    into_.groups.push_back(std::move(out));
    return {};
  }

 private:
  Result<void> group(const YamlPlace& place, const YamlNode& node) {
    TRY_VOID(as_mapping(place, node));
    const bool listed = node.find("gpus") != nullptr;
    constexpr std::array<std::string_view, 2> required_listed{"nodes", "gpus"};
    constexpr std::array<std::string_view, 2> required_alike{"nodes", "board"};
    constexpr std::array<std::string_view, 1> optional_listed{"name"};
    constexpr std::array<std::string_view, 4> optional_alike{"name", "gpus_per_node", "price", "holds"};
    if (listed)
      TRY_VOID(require_keys(place, node, required_listed, optional_listed));
    else
      TRY_VOID(require_keys(place, node, required_alike, optional_alike));
    NodeGroup out;
    const auto& nodes = *node.find("nodes");
    out.open = nodes.kind == YamlNode::Kind::scalar && nodes.text == "open";
    if (!out.open) out.nodes = TRY(as_integer(place.at("nodes"), nodes, 1, kMostNodes));
    if (listed) {
      const auto* list = TRY(as_sequence(place.at("gpus"), *node.find("gpus")));
      for (std::size_t i = 0; i < list->size(); ++i)
        TRY_VOID(gpus(place.at("gpus").at(i), (*list)[i], "count", 1, out));
      if (out.kinds.empty()) return yaml_fail(place, *node.find("gpus"), "expected at least one GPU, found none");
    } else {
      TRY_VOID(gpus(place, node, "gpus_per_node", 8, out));
    }
    if (out.open && std::ranges::any_of(out.kinds, [&](int kind) { return kind != out.kinds.front(); }))
      return yaml_fail(place, node,
                       "open nodes have GPUs that are all alike: give the number of nodes, or split the group");
    out.name = node.find("name") != nullptr ? TRY(read_name(place.at("name"), *node.find("name")))
                                            : into_.fleet.kinds[static_cast<std::size_t>(out.kinds.front())].board->id;
    TRY_VOID(own_name(place, node, out.name, false));
    into_.groups.push_back(std::move(out));
    return {};
  }

  // GPUs that are alike, within a group.
  Result<void> gpus(const YamlPlace& place, const YamlNode& node, std::string_view count_key, std::int64_t otherwise,
                    NodeGroup& out) {
    if (count_key == "count") {
      constexpr std::array<std::string_view, 1> required{"board"};
      constexpr std::array<std::string_view, 3> optional{"count", "price", "holds"};
      TRY_VOID(require_keys(place, node, required, optional));
    }
    Kind kind;
    kind.board = TRY(board(place.at("board"), *node.find("board")));
    kind.name = kind.board->id;
    if (const auto* price = node.find("price")) {
      kind.price = TRY(as_number(place.at("price"), *price));
      if (!sound_price(kind.price))
        return yaml_fail(place.at("price"), *price,
                         "expected a price above 0, from 0.01 to 1000000 with at most four decimals, found " +
                             price->text + ": choose another unit");
    }
    if (const auto* holds = node.find("holds")) TRY_VOID(read_holds(place.at("holds"), *holds, kind));
    std::int64_t count = otherwise;
    if (const auto* given = node.find(count_key)) count = TRY(as_integer(place.at(count_key), *given, 1, kMostPerNode));
    if (out.open && !kind.state.empty())
      return yaml_fail(place, node, "open nodes are empty ones: give the number of nodes, or leave out what they hold");
    if (static_cast<std::int64_t>(out.kinds.size()) + count > kMostPerNode)
      return yaml_fail(place, node, fmt::format("expected at most {} GPUs on a node, found more", kMostPerNode));
    if (!out.open) {
      const std::int64_t all = (count * out.nodes) + gpus_;
      if (all > kMostGpus)
        return yaml_fail(place, node, fmt::format("expected at most {} GPUs in the fleet, found {}", kMostGpus, all));
    }
    const int index = add_kind(kind, out.open ? std::nullopt : std::optional(count * out.nodes));
    for (std::int64_t i = 0; i < count; ++i) out.kinds.push_back(index);
    return {};
  }

  Result<void> read_holds(const YamlPlace& place, const YamlNode& node, Kind& kind) {
    const auto* list = TRY(as_sequence(place, node));
    constexpr std::array<std::string_view, 2> required{"profile", "start"};
    constexpr std::array<std::string_view, 1> optional{"pinned"};
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto here = place.at(i);
      const auto& each = (*list)[i];
      TRY_VOID(require_keys(here, each, required, optional));
      const auto name = TRY(as_text(here.at("profile"), *each.find("profile")));
      const int profile = TRY(profile_at(here.at("profile"), *each.find("profile"), *kind.board, name));
      const auto start = TRY(as_integer(here.at("start"), *each.find("start"), 0, 31));
      const auto* pinned = each.find("pinned");
      kind.state.push_back(
          {{profile, static_cast<int>(start)}, pinned != nullptr && TRY(as_bool(here.at("pinned"), *pinned))});
    }
    return together(place, node, kind);
  }

  // Sorted by start, and possible on one GPU.
  static Result<void> together(const YamlPlace& place, const YamlNode& node, Kind& kind) {
    std::ranges::sort(kind.state, {}, [](const Occupant& occupant) { return occupant.placed.start; });
    std::vector<plan::Placed> placed;
    for (const auto& occupant : kind.state) placed.push_back(occupant.placed);
    if (!valid(plan::Geometry(*kind.board), placed))
      return yaml_fail(place, node, "these instances do not go together on one " + kind.board->id);
    return {};
  }

  Result<void> own_name(const YamlPlace& place, const YamlNode& node, const std::string& name, bool live) {
    const auto [other, fresh] = groups_.try_emplace(name, live);
    if (fresh) return {};
    return yaml_fail(place, node,
                     other->second
                         ? "the node " + quote(name) + " is there already: give each node once, by its own name"
                         : "another group is called " + quote(name) + ": give each a name of its own");
  }

  // True where the status says nothing about it.
  static bool mig_on(const YamlNode& gpu) {
    const auto* mode = gpu.find("mig_mode");
    const auto* current = mode != nullptr ? mode->find("current") : nullptr;
    return current == nullptr || current->text != "false";
  }

  // `otherwise`: its index, where the status has none.
  Result<LiveGpu> live_facts(const YamlPlace& place, const YamlNode& gpu, int otherwise) {
    LiveGpu out{otherwise, "", mig_on(gpu)};
    if (const auto* index = gpu.find("index"))
      out.index = static_cast<int>(TRY(as_integer(place.at("index"), *index, 0, 1'000'000)));
    const auto* uuid = gpu.find("uuid");
    if (uuid == nullptr || uuid->text.empty()) return out;
    out.uuid = uuid->text;
    if (!uuids_.insert(out.uuid).second)
      return std::unexpected(
          yaml_error(place.at("uuid"), *uuid, "the GPU " + out.uuid + " is there already: give each node once"));
    return out;
  }

  // nullopt: no MIG there, its state is not known, or all of it is in use.
  Result<std::optional<Kind>> live_gpu(const YamlPlace& place, const YamlNode& node) {
    TRY_VOID(as_mapping(place, node));
    const auto* id = node.find("board");
    const auto* fault = node.find("fault");
    const auto* instances = node.find("gpu_instances");
    const bool known = id != nullptr && id->kind == YamlNode::Kind::scalar &&
                       (fault == nullptr || fault->kind == YamlNode::Kind::null);
    const auto* held = node.find("pins");  // the whole GPU is leased
    if (!known || id->kind == YamlNode::Kind::null || (held != nullptr && !held->items.empty())) return std::nullopt;
    const auto* processes = node.find("processes");
    if (processes != nullptr && !processes->items.empty() && !mig_on(node)) return std::nullopt;  // they use all of it
    Kind kind;
    kind.board = TRY(board(place.at("board"), *id));
    if (!kind.board->has_mig()) return std::nullopt;
    kind.name = kind.board->id;
    if (instances == nullptr) return kind;
    const auto* list = TRY(as_sequence(place.at("gpu_instances"), *instances));
    for (std::size_t i = 0; i < list->size(); ++i) {
      const auto here = place.at("gpu_instances").at(i);
      const auto& each = (*list)[i];
      const auto *profile = each.find("profile"), *start = each.find("placement_start"), *pins = each.find("pins");
      if (profile == nullptr || start == nullptr)
        return yaml_fail(here, each, "expected a GPU instance with profile and placement, as status prints it");
      const int p = TRY(profile_at(here.at("profile"), *profile, *kind.board, profile->text));
      const auto s = TRY(as_integer(here.at("placement_start"), *start, 0, 31));
      kind.state.push_back({{p, static_cast<int>(s)}, pins != nullptr && !pins->items.empty()});
    }
    TRY_VOID(together(place, node, kind));
    return kind;
  }

  Result<std::shared_ptr<const catalog::Board>> board(const YamlPlace& place, const YamlNode& node) {
    const auto id = TRY(as_text(place, node));
    auto found = catalog_.board(id);
    if (found) return *found;
    auto error = std::move(found.error());
    error.message = yaml_error(place, node, error.message).message;
    return std::unexpected(std::move(error));
  }

  static Result<int> profile_at(const YamlPlace& place, const YamlNode& node, const catalog::Board& board,
                                const std::string& name) {
    const auto found = profile_by_name(board, name);
    if (!found) return yaml_fail(place, node, found.error().message);
    return *found;
  }

  // Kinds that are alike are one.
  int add_kind(const Kind& kind, std::optional<std::int64_t> count) {
    auto& kinds = into_.fleet.kinds;
    const auto [same, fresh] = kinds_.try_emplace(key_of(kind, !count), kinds.size());
    if (fresh) {
      kinds.push_back(kind);
      kinds.back().count = count;
    } else if (count) {
      auto& sum = kinds[same->second].count;
      sum = sum.value_or(0) + *count;
    }
    gpus_ += count.value_or(0);
    return static_cast<int>(same->second);
  }

  catalog::Catalog& catalog_;
  FleetFile& into_;
  std::set<std::string> uuids_;         // of live GPUs so far
  std::map<std::string, bool> groups_;  // by name: is it a live node
  std::map<KindKey, std::size_t> kinds_;
  std::int64_t gpus_ = 0;  // that have a count
};

}  // namespace

Result<void> read_fleet(std::string_view text, const std::string& file, catalog::Catalog& catalog, FleetFile& into) {
  const auto document = TRY(parse_yaml(text, file, kYaml));
  const YamlPlace root{&document, ""};
  TRY_VOID(as_mapping(root, document.root));
  Reader reader(catalog, into);
  if (document.root.find("fleet") == nullptr && document.root.find("gpus") != nullptr)
    return reader.live(root, document.root);
  return reader.described(root, document.root);
}

}  // namespace partita::fleet
