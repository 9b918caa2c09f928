// partita defrag: which instances to re-create where, so that room appears.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "cli/common.h"
#include "cli/draw/defrag_answer.h"
#include "cli/verbs/run_policy.h"
#include "layout/checkpoint_file.h"
#include "layout/profile_name.h"

namespace partita::cli {
namespace {

using Is = fleet::DefragInstance::Is;

bool takes_part(const layout::Gpu& gpu) {
  return gpu.board && gpu.board->has_mig() && gpu.mode && gpu.mode->current && gpu.mode->pending && !gpu.fault &&
         gpu.pins.empty();
}

// "alice" of "lease alice (root)"; "" for other holders.
std::string lease_name(const layout::Pin& pin) {
  constexpr std::string_view kLease = "lease ";
  if (!pin.holder.starts_with(kLease)) return "";
  const auto rest = pin.holder.substr(kLease.size());
  return rest.substr(0, rest.find(' '));
}

// Leases that may be elsewhere: none that named a GPU, or who else is on it.
Result<std::set<std::string>> movable_leases(const Parsed& parsed, const Session& session) {
  std::set<std::string> out;
  if (!parsed.flag("leases")) return out;
  api::LeaseQuery query;
  query.caller = session.caller;
  for (const auto& lease : TRY(session.node->leases(query))) {
    const auto& asked = lease.requirement;
    if (!asked.gpu && !asked.start && !asked.same_gpu_as && !asked.exclusive_gpu && !asked.whole_gpu)
      out.insert(lease.name);
  }
  return out;
}

Is kind_of(const layout::GpuInstance& instance, const std::set<std::string>& movable) {
  if (!instance.pinned()) return Is::idle;
  const bool held = std::ranges::all_of(instance.pins, [&](const auto& pin) {
    return pin.reason == layout::Pin::Reason::leased && movable.contains(lease_name(pin));
  });
  return held ? Is::held : Is::fixed;
}

// "3g.20gb=2".
Result<void> read_wanted(const Parsed& parsed, DefragAnswer& answer, fleet::DefragGoal& goal) {
  const auto text = parsed.text("for");
  if (!text) return {};
  const auto equals = text->find('=');
  answer.wanted = std::string(trim(std::string_view(*text).substr(0, equals)));
  if (answer.wanted.empty())
    return fail(ErrorCode::invalid, "option --for: expected PROFILE or PROFILE=COUNT, found " + quote(*text));
  goal.named = true;
  if (equals != std::string::npos) {
    constexpr int kMost = 4096;
    int count = 0;
    const auto number = std::string_view(*text).substr(equals + 1);
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), count);
    if (error != std::errc{} || end != number.data() + number.size() || count < 1 || count > kMost)
      return fail(ErrorCode::invalid,
                  "option --for: expected PROFILE or PROFILE=COUNT with a count from 1 to 4096, found " + quote(*text));
    answer.enough = goal.enough = count;
  }
  return {};
}

Result<std::vector<fleet::DefragGpu>> gpus_of(DefragAnswer& answer, const std::set<std::string>& movable) {
  std::vector<fleet::DefragGpu> out;
  std::optional<Error> unknown;
  bool found = answer.wanted.empty();
  for (std::size_t g = 0; g < answer.before.gpus.size(); ++g) {
    const auto& gpu = answer.before.gpus[g];
    if (!takes_part(gpu)) continue;
    fleet::DefragGpu one{gpu.board, {}, {}};
    for (const auto& instance : gpu.instances)
      one.instances.push_back({{instance.profile, instance.placement.start}, kind_of(instance, movable)});
    if (!answer.wanted.empty()) {
      if (const auto match = layout::find_profile(*gpu.board, answer.wanted))
        one.wanted = match->profile;
      else
        unknown = match.error();
      found = found || one.wanted;
    }
    out.push_back(std::move(one));
    answer.gpus.push_back(g);
  }
  if (out.empty()) return fail(ErrorCode::no_space, "no GPU of this node is in MIG mode and free of faults");
  if (!found && unknown) return std::unexpected(*unknown);
  return out;
}

layout::NodeState after(const DefragAnswer& answer) {
  auto out = answer.before;
  for (const auto& move : answer.plan.moves)
    std::erase_if(out.gpus[answer.gpus[static_cast<std::size_t>(move.from)]].instances,
                  [&](const auto& instance) { return instance.placement.start == move.before.start; });
  for (const auto& move : answer.plan.moves) {
    auto instance = moved(answer, move);
    instance.placement.start = move.after.start;
    instance.id = -1;  // it gets one when it is made
    auto& gpu = out.gpus[answer.gpus[static_cast<std::size_t>(move.to)]];
    gpu.instances.push_back(std::move(instance));
    std::ranges::sort(gpu.instances, {}, [](const auto& each) { return each.placement.start; });
  }
  return out;
}

// Only the GPUs that change, so that others may change meanwhile; where nothing moves, all that took part, as they are.
std::string changed_layout(const DefragAnswer& answer) {
  layout::NodeState out = answer.after;
  out.gpus.clear();
  auto gpus = changed_gpus(answer);
  if (gpus.empty()) gpus.insert(answer.gpus.begin(), answer.gpus.end());
  for (const auto gpu : gpus) out.gpus.push_back(answer.after.gpus[gpu]);
  return layout::write_checkpoint(out);
}

// Leases are parked before, and back after.
std::vector<std::string> commands(const std::string& partita, const DefragAnswer& answer) {
  std::vector<std::string> leases;
  for (const auto& move : answer.plan.moves)
    for (const auto& pin : moved(answer, move).pins)
      if (const auto name = lease_name(pin); !name.empty()) leases.push_back(printable(name));
  std::ranges::sort(leases);
  leases.erase(std::ranges::unique(leases).begin(), leases.end());
  std::vector<std::string> out;
  for (const auto& lease : leases) out.push_back(partita + " park " + lease);
  out.push_back(fmt::format("{} apply -f {}", partita, answer.file ? shell_word(*answer.file) : "FILE"));
  for (const auto& lease : leases) out.push_back(partita + " unpark " + lease);
  return out;
}

// --for asks for room: that there is none is told as lease and plan tell it.
Result<void> check_room(const DefragAnswer& answer, const std::set<std::string>& movable) {
  if (answer.wanted.empty()) return {};
  const auto least = answer.enough.value_or(1);
  if (answer.plan.room_after >= least) return {};
  std::vector<std::string> in_the_way;
  for (const auto g : answer.gpus)
    for (const auto& instance : answer.before.gpus[g].instances)
      if (kind_of(instance, movable) == Is::fixed)
        in_the_way.push_back(
            fmt::format("GPU {}: {}: {}", answer.before.gpus[g].index,
                        layout::name_at(*answer.before.gpus[g].board, instance.profile, instance.placement.start),
                        printable(holder_of(instance))));
  return fail(ErrorCode::no_space,
              fmt::format("no moves make room for {} {}: at most {}", least, answer.wanted, answer.plan.room_after),
              std::move(in_the_way));
}

}  // namespace

Result<int> run_defrag(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  DefragAnswer answer;
  fleet::DefragGoal goal;
  TRY_VOID(read_wanted(parsed, answer, goal));
  constexpr int kMostMoves = 1'000'000;
  if (const auto most = TRY(parsed.number("max-moves", 0, kMostMoves))) goal.most_moves = *most;
  answer.file = parsed.text("output-file");
  if (answer.file && *answer.file != "-") TRY_VOID(can_write_file(*answer.file));
  const auto session = TRY(open_session(parsed));
  answer.before = TRY(session->node->status()).state;
  const auto movable = TRY(movable_leases(parsed, *session));
  const auto gpus = TRY(gpus_of(answer, movable));
  answer.plan = TRY(fleet::defragment(gpus, goal));
  TRY_VOID(check_room(answer, movable));
  answer.after = after(answer);
  if (!answer.plan.moves.empty()) answer.commands = commands(command_words(parsed, *session), answer);
  if (answer.file && *answer.file == "-") {
    TRY_VOID(print(changed_layout(answer)));
    return 0;
  }
  if (answer.file) TRY_VOID(write_file_atomically(*answer.file, changed_layout(answer)));
  if (format == Format::table)
    TRY_VOID(print(draw_defrag(output_look(parsed), answer)));
  else
    TRY_VOID(print_json(format, to_json(answer)));
  return 0;
}

}  // namespace partita::cli
