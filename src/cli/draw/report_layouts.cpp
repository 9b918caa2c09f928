// How GPUs are cut, drawn to scale, a row per kind of layout; which boards are used and which nodes look how.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "cli/draw/explain_words.h"
#include "cli/draw/report_parts.h"

namespace partita::cli {
namespace {

using fleet::Group;
using fleet::Instance;
using report::Drawing;
using report::Kind;
using Fill = Drawing::Look::Fill;

constexpr std::size_t kMostLayouts = 16;  // per board
constexpr std::size_t kMostNodes = 24;
constexpr int kColours = 7;  // the eighth is for all other lines

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The plan's groups as they are numbered on the page: by board, the most GPUs first; those that stay empty come last.
std::vector<int> layout_order(const FleetAnswer& answer) {
  const auto& groups = answer.plan.groups;
  std::vector<int> out(groups.size());
  std::iota(out.begin(), out.end(), 0);
  std::map<std::string, int> boards;
  for (const auto& kind : answer.fleet.fleet.kinds) boards.try_emplace(kind.board->id, static_cast<int>(boards.size()));
  std::ranges::stable_sort(out, {}, [&](int g) {
    const auto& group = groups[at(g)];
    return std::tuple(boards.at(kind_of(answer, group.kind).board->id), !fleet::used(group), -group.count);
  });
  return out;
}

// Which colour a line of the demand has: those with the most slices have one of their own.
std::vector<int> colours_of(const FleetAnswer& answer) {
  std::vector<std::pair<std::int64_t, std::size_t>> slices(answer.demand.wants.size());
  for (std::size_t w = 0; w < slices.size(); ++w) slices[w].second = w;
  for (const auto& group : answer.plan.groups)
    for (const auto& instance : group.instances)
      if (instance.want >= 0)
        slices[at(instance.want)].first -=
            group.count * kind_of(answer, group.kind).board->profiles[at(instance.placed.profile)].placement_size;
  std::ranges::stable_sort(slices);
  std::vector<int> out(slices.size(), kColours);
  for (std::size_t i = 0; i < std::min<std::size_t>(kColours, slices.size()); ++i)
    out[slices[i].second] = static_cast<int>(i);
  if (slices.size() == kColours + 1) out[slices.back().second] = kColours;
  return out;
}

// Makes looks as blocks need them.
class Palette {
 public:
  Palette(const FleetAnswer& answer, const std::vector<int>& colours) : answer_(answer), colours_(colours) {}

  int of(const Instance& instance) {
    if (instance.want >= 0) {
      const int colour = colours_[at(instance.want)];
      const bool shared = colour == kColours && answer_.demand.wants.size() > kColours + 1;
      return look({shared ? "other lines" : answer_.demand.wants[at(instance.want)].name, Fill::colour, colour});
    }
    return instance.is == Instance::Is::pinned ? look({"pinned: stays as it is, serves nothing here", Fill::hatched, 0})
                                               : look({"idle: serves nothing here", Fill::outline, 0});
  }
  std::vector<Drawing::Look> looks() && { return std::move(looks_); }

 private:
  int look(const Drawing::Look& wanted) {
    const auto same = [&](const auto& each) { return each.fill == wanted.fill && each.colour == wanted.colour; };
    const auto known = std::ranges::find_if(looks_, same);
    if (known != looks_.end()) return static_cast<int>(known - looks_.begin());
    looks_.push_back(wanted);
    return static_cast<int>(looks_.size()) - 1;
  }

  const FleetAnswer& answer_;
  const std::vector<int>& colours_;
  std::vector<Drawing::Look> looks_;
};

// "3g" of "3g.20gb".
std::string brief(const std::string& profile) { return profile.substr(0, profile.find('.')); }

Drawing::Row row_of(const FleetAnswer& answer, int g, std::size_t number, bool live, Palette& palette) {
  const auto& group = answer.plan.groups[at(g)];
  const auto& board = *kind_of(answer, group.kind).board;
  Drawing::Row row{count_of(static_cast<std::size_t>(group.count), "GPU"), fmt::format("layout {}", number), 1, {}};
  if (!fleet::used(group)) row.note += ", not used";
  std::vector<std::string> gone;
  for (const auto& placed : group.destroyed) gone.push_back(layout::name_at(board, placed.profile, placed.start));
  if (!gone.empty()) row.note += ", destroys " + join(gone, ", ");
  for (const auto& instance : group.instances) {
    const auto& profile = board.profiles[at(instance.placed.profile)];
    const bool fresh = live && instance.is == Instance::Is::created;
    const auto want = instance.want >= 0 ? answer.demand.wants[at(instance.want)].name : "";
    Drawing::Block block;
    block.from = instance.placed.start;
    block.until = instance.placed.start + profile.placement_size;
    block.text = (fresh ? "+ " : "") + profile.name;
    block.brief = (fresh ? "+" : "") + brief(profile.name);
    block.below = want == profile.name ? "" : want;
    block.detail = layout::name_at(board, instance.placed.profile, instance.placed.start) +
                   (fresh                                       ? ", created"
                    : live && instance.is == Instance::Is::kept ? ", kept"
                                                                : "") +
                   (!want.empty()                         ? ", serves " + want
                    : instance.is == Instance::Is::pinned ? ", pinned"
                                                          : ", idle");
    block.look = palette.of(instance);
    row.blocks.push_back(std::move(block));
  }
  return row;
}

Drawing drawing_of(const FleetAnswer& answer, const std::vector<std::pair<std::size_t, int>>& layouts,
                   const std::vector<int>& colours) {
  const auto& board = *kind_of(answer, answer.plan.groups[at(layouts.front().second)].kind).board;
  bool live = false;
  for (const auto& group : answer.plan.groups)
    live = live || !group.destroyed.empty() ||
           std::ranges::any_of(group.instances, [](const auto& each) { return each.is != Instance::Is::created; });
  Drawing out;
  out.title = "How each " + board.id + " is cut";
  out.length = board.placement_units;
  out.scale = "memory slices";
  Palette palette(answer, colours);
  std::size_t left = 0;
  std::int64_t left_gpus = 0;
  for (const auto& [number, g] : layouts) {
    if (out.rows.size() < kMostLayouts) {
      out.rows.push_back(row_of(answer, g, number, live, palette));
      continue;
    }
    ++left;
    left_gpus += answer.plan.groups[at(g)].count;
  }
  out.looks = std::move(palette).looks();
  if (live) out.note = "+: is created; what has no + is there already. ";
  if (left > 0)
    out.note += fmt::format("{} more {} on {} are in the JSON output (-o json).", left,
                            left == 1 ? "layout" : "layouts", count_of(static_cast<std::size_t>(left_gpus), "GPU"));
  return out;
}

struct BoardSums {
  std::string board;
  double price = 1;
  std::optional<std::int64_t> there = 0;  // nullopt: as many as are needed
  std::int64_t used = 0, changed = 0, slices = 0, all_slices = 0;
};

std::vector<BoardSums> sums_by_board(const FleetAnswer& answer) {
  std::vector<BoardSums> out;
  const auto sums_of = [&](const fleet::Kind& kind) -> BoardSums& {
    for (auto& each : out)
      if (each.board == kind.board->id && each.price == kind.price) return each;
    return out.emplace_back(BoardSums{kind.board->id, kind.price, 0, 0, 0, 0, 0});
  };
  for (const auto& kind : answer.fleet.fleet.kinds) {
    auto& sums = sums_of(kind);
    sums.there = kind.count && sums.there ? std::optional(*sums.there + *kind.count) : std::nullopt;
  }
  for (const auto& group : answer.plan.groups) {
    const auto& kind = kind_of(answer, group.kind);
    auto& sums = sums_of(kind);
    if (fleet::touched(group)) sums.changed += group.count;
    if (!fleet::used(group)) continue;
    sums.used += group.count;
    sums.all_slices += group.count * kind.board->memory_slices;
    for (const auto& instance : group.instances)
      if (instance.want >= 0 || instance.is == Instance::Is::pinned)
        sums.slices += group.count * kind.board->profiles[at(instance.placed.profile)].memory_slices;
  }
  return out;
}

report::Table boards_table(const FleetAnswer& answer) {
  const bool priced = has_prices(answer);
  report::Table out{"GPUs in use, by kind",
                    {"kind of GPU", "in the fleet", "in use", "changed", "slices used (%)"},
                    {Kind::input, Kind::input, Kind::planned, Kind::planned, Kind::planned},
                    {}};
  if (priced) {
    out.columns.insert(out.columns.end(), {"price of one", "cost"});
    out.kinds.insert(out.kinds.end(), {Kind::input, Kind::planned});
  }
  for (const auto& sums : sums_by_board(answer)) {
    out.rows.push_back({sums.board, sums.there ? std::to_string(*sums.there) : "as many as needed",
                        std::to_string(sums.used), std::to_string(sums.changed),
                        sums.all_slices > 0 ? fmt::format("{:.1f}", 100.0 * static_cast<double>(sums.slices) /
                                                                        static_cast<double>(sums.all_slices))
                                            : "–"});
    if (priced) {
      out.rows.back().push_back(fmt::format("{:g}", sums.price));
      out.rows.back().push_back(number_word(sums.price * static_cast<double>(sums.used)));
    }
  }
  return out;
}

report::Table proof_table(const FleetAnswer& answer) {
  report::Table out{"What is made least, in this order",
                    {"quantity", "this plan", "no plan is below", "proven least"},
                    {Kind::input, Kind::planned, Kind::planned, Kind::input},
                    {}};
  for (const auto& level : answer.plan.levels)
    out.rows.push_back({level.name == "cost" && !has_prices(answer) ? "GPUs in use" : level.name,
                        number_word(level.value), number_word(level.bound), level.proven() ? "yes" : "no"});
  return out;
}

// Places in the order whose layouts are drawn: of each board the first ones.
std::vector<bool> drawn(const FleetAnswer& answer, const std::vector<int>& order) {
  std::map<std::string, std::size_t> rows;
  std::vector<bool> out;
  for (const int g : order)
    out.push_back(++rows[kind_of(answer, answer.plan.groups[at(g)].kind).board->id] <= kMostLayouts);
  return out;
}

// "4 × layout 1, 2 × layout 3, 2 others".
report::Table nodes_table(const FleetAnswer& answer, const std::vector<int>& order) {
  report::Table out{
      "Which nodes look how", {"nodes", "how many", "GPUs"}, {Kind::input, Kind::planned, Kind::input}, {}};
  const auto shown = drawn(answer, order);
  std::vector<std::size_t> number_of(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) number_of[at(order[i])] = shown[i] ? i + 1 : order.size() + 1;
  for (const auto& node : answer.nodes) {
    std::map<std::size_t, int> count;
    for (const int g : node.gpus) ++count[g < 0 ? order.size() + 2 : number_of[at(g)]];
    std::vector<std::string> parts;
    for (const auto& [number, gpus] : count)
      parts.push_back(number <= order.size()       ? fmt::format("{} × layout {}", gpus, number)
                      : number == order.size() + 1 ? fmt::format("{} × others", gpus)
                                                   : fmt::format("{} not needed", gpus));
    out.rows.push_back({answer.fleet.groups[at(node.group)].name, std::to_string(node.nodes), join(parts, ", ")});
  }
  return out;
}

}  // namespace

report::Section gpus_section(const FleetAnswer& answer) {
  report::Section out{"The GPUs", {}, {}};
  const auto order = layout_order(answer);
  const auto colours = colours_of(answer);
  out.parts.emplace_back(boards_table(answer));
  std::vector<std::pair<std::string, std::vector<std::pair<std::size_t, int>>>> boards;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& group = answer.plan.groups[at(order[i])];
    const auto& id = kind_of(answer, group.kind).board->id;
    if (boards.empty() || boards.back().first != id) boards.push_back({id, {}});
    boards.back().second.emplace_back(i + 1, order[i]);
  }
  std::vector<std::string> idle;
  for (const auto& [id, layouts] : boards) {
    const auto holds_any = [&](const auto& each) { return !answer.plan.groups[at(each.second)].instances.empty(); };
    if (std::ranges::any_of(layouts, holds_any))
      out.parts.emplace_back(drawing_of(answer, layouts, colours));
    else
      idle.push_back(id);
  }
  if (!idle.empty()) out.paragraphs.push_back("Not needed, and left as they are: " + join(idle, ", ") + ".");
  auto nodes = nodes_table(answer, order);
  if (const auto more = cut_rows(nodes, "kinds of node", kMostNodes); !more.empty()) out.paragraphs.push_back(more);
  out.parts.emplace_back(std::move(nodes));
  if (!answer.plan.levels.empty()) out.parts.emplace_back(proof_table(answer));
  return out;
}

}  // namespace partita::cli
