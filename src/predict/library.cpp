#include "predict/library.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "layout/profile_name.h"

namespace partita::predict {
namespace {

bool is_whole(std::string_view profile) {
  constexpr std::string_view kWords[] = {"whole",  "full",   "whole gpu", "full gpu", "none", "no mig",
                                         "no-mig", "no_mig", "off",       "bare",     "n/a",  "gpu"};
  return std::ranges::find(kWords, profile) != std::end(kWords);
}

// "MIG 3g.40gb", "mig-3g.40gb" -> "3g.40gb".
std::string without_mig(std::string_view text) {
  std::string out = lower(trim(text));
  if (out.size() > 4 && out.starts_with("mig") && (out[3] == ' ' || out[3] == '-' || out[3] == '_')) out.erase(0, 4);
  return out;
}

// "3g" or "3": the plain profile of so many compute slices with the least memory.
std::optional<int> by_slices(const catalog::Board& board, std::string_view text) {
  if (text.ends_with('g')) text.remove_suffix(1);
  if (text.size() != 1 || text[0] < '1' || text[0] > '9') return std::nullopt;
  std::optional<int> best;
  for (std::size_t i = 0; i < board.profiles.size(); ++i) {
    const catalog::Profile& p = board.profiles[i];
    if (p.compute_slices != text[0] - '0' || p.attributes != catalog::Attributes{}) continue;
    bool less = !best || p.memory_slices < board.profiles[static_cast<std::size_t>(*best)].memory_slices;
    if (less) best = static_cast<int>(i);
  }
  return best;
}

// The words that tell boards apart: "NVIDIA A100-SXM4-40GB" -> a100, sxm4, 40gb.
std::vector<std::string> words_of(std::string_view name) {
  constexpr std::string_view kEveryones[] = {"nvidia", "tesla", "gpu", "dgx", "hgx", "tensor", "core", ""};
  std::vector<std::string> out;
  std::string word;
  for (char c : lower(name) + ' ') {
    if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
      continue;
    }
    if (std::ranges::find(kEveryones, word) == std::end(kEveryones)) out.push_back(word);
    word.clear();
  }
  return out;
}

// The first word must be the same; each other one begins one of the board's: "sxm" stands for "sxm4".
bool may_be(const std::vector<std::string>& asked, const catalog::BoardEntry& entry) {
  std::vector<std::string> has = words_of(entry.id);
  for (std::string& word : words_of(entry.product)) has.push_back(std::move(word));
  if (asked.empty() || has.empty() || asked.front() != has.front()) return false;
  return std::ranges::all_of(asked, [&](const std::string& word) {
    return std::ranges::any_of(has, [&](const std::string& other) { return other.starts_with(word); });
  });
}

}  // namespace

Result<Partition> partition_on(const catalog::Board& board, const std::string& profile) {
  Partition out;
  out.board = &board;
  const std::string text = without_mig(profile);
  if (is_whole(text)) return out;
  if (auto profile_index = by_slices(board, text)) {
    out.profile = *profile_index;
    return out;
  }
  if (auto found = layout::find_profile(board, text)) {
    const auto& matched = board.profiles[static_cast<std::size_t>(found->profile)];
    out.profile = found->profile;
    if (!matched.compute[static_cast<std::size_t>(found->compute)].is_default) out.compute = found->compute;
    return out;
  }
  std::string names = "whole";
  for (const catalog::Profile& p : board.profiles) names += ", " + p.name;
  return fail(ErrorCode::not_found,
              fmt::format("board {} has no profile {}; it has {}", board.id, quote(profile), names));
}

Result<Library> Library::open(const std::optional<std::filesystem::path>& data_dir) {
  catalog::Catalog catalog = TRY(catalog::Catalog::open(data_dir));
  return Library(std::move(catalog));
}

Result<void> Library::add(std::string text, std::string file) {
  Workload workload = TRY(read_workload(text, file));
  if (std::ranges::find(own_, workload.name, &Own::name) != own_.end()) {
    return fail(ErrorCode::invalid,
                fmt::format("{}: a workload {} was given before; give each its own name", file, quote(workload.name)));
  }
  own_.push_back({std::move(workload.name), std::move(text), std::move(file)});
  return {};
}

Result<const catalog::Board*> Library::board(const std::string& id) {
  auto it = boards_.find(id);
  if (it == boards_.end()) {
    std::shared_ptr<const catalog::Board> board = TRY(catalog_.board(id));
    it = boards_.emplace(id, std::move(board)).first;
  }
  return it->second.get();
}

Result<Workload> Library::build(const std::string& name, std::optional<int> sequence) const {
  auto own = std::ranges::find(own_, name, &Own::name);
  auto made = [&](std::optional<int> tokens) {
    return own == own_.end() ? shipped_workload(name, tokens) : read_workload(own->text, own->file, tokens);
  };
  Workload workload = TRY(made(std::nullopt));
  if (!sequence || !workload.has_sequence) return workload;
  return made(sequence);
}

Result<const Workload*> Library::workload(const std::string& name, std::optional<int> sequence) {
  auto key = std::pair{name, sequence.value_or(0)};
  auto it = workloads_.find(key);
  if (it == workloads_.end()) {
    Workload workload = TRY(build(name, sequence));
    it = workloads_.emplace(key, std::make_unique<Workload>(std::move(workload))).first;
  }
  return it->second.get();
}

Result<Partition> Library::partition(const std::string& board_id, const std::string& profile) {
  const catalog::Board* found = TRY(board(board_id));
  return partition_on(*found, profile);
}

Result<NamedPartition> Library::find(const std::string& text, const std::string& profile) {
  for (const catalog::BoardEntry& entry : catalog_.boards()) {
    if (entry.id != lower(trim(text)) && lower(entry.product) != lower(trim(text))) continue;
    Partition exact = TRY(partition(entry.id, profile));
    return NamedPartition{exact, ""};
  }
  std::vector<std::string> ids, names;
  for (const catalog::BoardEntry& entry : catalog_.boards()) {
    names.push_back(entry.id);
    if (may_be(words_of(text), entry)) ids.push_back(entry.id);
  }
  if (ids.empty()) {
    return fail(ErrorCode::not_found, fmt::format("no board is called {}{}", quote(text), did_you_mean(text, names)));
  }
  return choose(text, ids, profile);
}

Result<NamedPartition> Library::choose(const std::string& text, const std::vector<std::string>& ids,
                                       const std::string& profile) {
  std::vector<Partition> fitting;
  std::optional<Error> last;
  for (const std::string& id : ids) {
    auto found = partition(id, profile);
    if (found) fitting.push_back(*found);
    if (!found) last = found.error();
  }
  if (fitting.empty() && last) return std::unexpected(*std::move(last));
  std::string may;
  for (const Partition& p : fitting) may += (may.empty() ? "" : ", ") + p.board->id;
  auto differs = [&](const Partition& p) { return p.board->nominal_gb != fitting.front().board->nominal_gb; };
  if (std::ranges::any_of(fitting, differs)) {
    return fail(ErrorCode::not_found, fmt::format("board {} may be {}: give one of them", quote(text), may));
  }
  auto sxm = std::ranges::find_if(fitting, [](const Partition& p) { return p.board->id.contains("sxm"); });
  const Partition& chosen = sxm == fitting.end() ? fitting.front() : *sxm;
  std::string said = fmt::format("board {} is {}", quote(text), chosen.board->id);
  if (fitting.size() > 1) said += fmt::format(" (it may be {})", may);
  return NamedPartition{chosen, std::move(said)};
}

}  // namespace partita::predict
