#include "cli/draw/defrag_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/draw/draw.h"
#include "cli/draw/table.h"

namespace partita::cli {

const layout::Gpu& gpu_of(const DefragAnswer& answer, int gpu) {
  return answer.before.gpus[answer.gpus[static_cast<std::size_t>(gpu)]];
}

const layout::GpuInstance& moved(const DefragAnswer& answer, const fleet::DefragMove& move) {
  return *std::ranges::find(gpu_of(answer, move.from).instances, move.before.start,
                            [](const auto& instance) { return instance.placement.start; });
}

std::set<std::size_t> changed_gpus(const DefragAnswer& answer) {
  std::set<std::size_t> out;
  for (const auto& move : answer.plan.moves)
    for (const int gpu : {move.from, move.to}) out.insert(answer.gpus[static_cast<std::size_t>(gpu)]);
  return out;
}

std::string holder_of(const layout::GpuInstance& instance) {
  return instance.pins.empty() ? "" : instance.pins.front().holder;
}

std::string cost_of(const DefragAnswer& answer, const fleet::DefragMove& move) {
  if (move.is == fleet::DefragInstance::Is::idle) return "nobody: it is idle";
  return holder_of(moved(answer, move)) + ": no device while it is parked, then another one";
}

namespace {

std::string place(const layout::Gpu& gpu, const plan::Placed& placed) {
  return fmt::format("GPU {} {}", gpu.index, layout::name_at(*gpu.board, placed.profile, placed.start));
}

std::string room_in_words(const DefragAnswer& answer) {
  const auto& plan = answer.plan;
  if (answer.wanted.empty())
    return fmt::format(
        "room for all profiles: {} before, {} after (memory slices of what would fit, summed over the "
        "profiles)",
        plan.room_before, plan.room_after);
  return fmt::format("room for {}: {} before, {} after", answer.wanted, plan.room_before, plan.room_after);
}

std::string draw_moves(const Look& look, const DefragAnswer& answer) {
  Table table({{"move"}, {"to"}, {"costs"}});
  for (const auto& move : answer.plan.moves)
    table.add(
        {{place(gpu_of(answer, move.from), move.before), Tone::strong},
         {place(gpu_of(answer, move.to), move.after)},
         {printable(cost_of(answer, move)), move.is == fleet::DefragInstance::Is::idle ? Tone::idle : Tone::leased}});
  return table.draw(look);
}

std::string draw_after(const Look& look, const DefragAnswer& answer) {
  std::string out;
  for (const auto gpu : changed_gpus(answer)) out += draw_gpu_briefly(look, answer.after.gpus[gpu]);
  return out;
}

}  // namespace

std::string draw_defrag(const Look& look, const DefragAnswer& answer) {
  std::string out = paint(look, Tone::strong, room_in_words(answer)) + '\n';
  if (answer.plan.moves.empty()) {
    out += answer.enough && answer.plan.room_before >= *answer.enough ? "there is room already\n"
                                                                      : "no move makes more room\n";
    return answer.file ? out + "layout: " + *answer.file + ", as it is now\n" : out;
  }
  out += '\n' + draw_moves(look, answer) + "\nafterwards\n" + draw_after(look, answer) + '\n';
  out += answer.plan.proven ? "proven: no plan makes more room, or as much with fewer moves\n"
                            : "not proven: there may be a better plan\n";
  if (answer.file) out += "layout: " + *answer.file + '\n';
  for (const auto& command : answer.commands) out += "  " + command + '\n';
  return out;
}

std::string to_json(const DefragAnswer& answer) {
  using Json = nlohmann::ordered_json;
  Json out{{"for", answer.wanted.empty() ? Json(nullptr) : Json(answer.wanted)},
           {"room_before", answer.plan.room_before},
           {"room_after", answer.plan.room_after},
           {"proven", answer.plan.proven},
           {"moves", Json::array()},
           {"commands", answer.commands},
           {"file", answer.file ? Json(*answer.file) : Json(nullptr)}};
  const auto at = [&](int gpu, const plan::Placed& placed) {
    const auto& where = gpu_of(answer, gpu);
    return Json{{"gpu", where.uuid}, {"gpu_index", where.index}, {"start", placed.start}};
  };
  for (const auto& move : answer.plan.moves) {
    const auto holder = holder_of(moved(answer, move));
    out["moves"].push_back({{"profile", profile_name(gpu_of(answer, move.from).board.get(), move.before.profile)},
                            {"from", at(move.from, move.before)},
                            {"to", at(move.to, move.after)},
                            {"holder", holder.empty() ? Json(nullptr) : Json(holder)},
                            {"cost", cost_of(answer, move)}});
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace partita::cli
