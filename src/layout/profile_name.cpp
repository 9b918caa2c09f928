#include "layout/profile_name.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace partita::layout {

namespace {

// Reads a name from left to right.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  // A number without sign or leading zero, 1 to 99999.
  std::optional<int> number() {
    std::size_t digits = 0;
    int value = 0;
    while (digits < rest_.size() && digits < 5 && rest_[digits] >= '0' && rest_[digits] <= '9')
      value = value * 10 + (rest_[digits++] - '0');
    if (digits == 0 || rest_[0] == '0') return std::nullopt;
    rest_.remove_prefix(digits);
    return value;
  }

 private:
  std::string_view rest_;
};

// Attributes after "+" or "-"; false when there is something else, or the same one twice.
bool read_attributes(Scanner& in, catalog::Attributes& out) {
  if (in.at_end()) return true;
  if (in.take("-")) {
    out.no_me = true;
    return in.take("me") && in.at_end();
  }
  const auto set = [](bool& attribute) { return !std::exchange(attribute, true); };
  if (!in.take("+") && !in.take(".")) return false;
  do {
    if (in.take("me.all")) {
      if (!set(out.me_all)) return false;
    } else if (in.take("me")) {
      if (!set(out.me)) return false;
    } else if (!in.take("gfx") || !set(out.gfx)) {
      return false;
    }
  } while (in.take("+") || in.take(",") || in.take("."));
  return in.at_end();
}

std::optional<ProfileName> scan(std::string_view text) {
  Scanner in(text);
  ProfileName name;
  auto slices = in.number();
  if (slices && in.take("c.")) {
    name.compute_slices_of_ci = slices;
    slices = in.number();
  }
  if (!slices || !in.take("g.")) return std::nullopt;
  const auto gb = in.number();
  if (!gb || !in.take("gb")) return std::nullopt;
  name.compute_slices = *slices;
  name.gb = *gb;
  if (!read_attributes(in, name.attributes)) return std::nullopt;
  return name;
}

std::vector<std::string> names_of(const catalog::Board& board) {
  std::vector<std::string> names;
  for (const auto& profile : board.profiles) names.push_back(profile.name);
  return names;
}

// The profile of the same slices and attributes whose GB is nearest, if that is near enough to be a driver's drift.
std::optional<int> drifted(const catalog::Board& board, const ProfileName& wanted) {
  constexpr int kDriftPercent = 6;
  std::optional<int> best;
  int best_distance = 0;
  bool tied = false;
  for (std::size_t i = 0; i < board.profiles.size(); ++i) {
    const auto name = scan(board.profiles[i].name);
    if (!name || name->compute_slices != wanted.compute_slices || name->attributes != wanted.attributes) continue;
    const int distance = std::abs(name->gb - wanted.gb);
    if (distance > 1 && distance * 100 > name->gb * kDriftPercent) continue;
    if (best && distance >= best_distance) {
      tied = tied || distance == best_distance;
      continue;
    }
    best = static_cast<int>(i);
    best_distance = distance;
    tied = false;
  }
  return tied ? std::nullopt : best;
}

// "; did you mean 1g.10gb?": the same slices and attributes with the nearest memory, else the nearest spelling.
std::string hint(const catalog::Board& board, std::string_view text) {
  const auto wanted = scan(text);
  const catalog::Profile* best = nullptr;
  int best_distance = 0;
  for (const auto& profile : board.profiles) {
    const auto name = scan(profile.name);
    if (!wanted || !name) continue;
    if (name->compute_slices != wanted->compute_slices || name->attributes != wanted->attributes) continue;
    const int distance = std::abs(name->gb - wanted->gb);
    if (best && distance >= best_distance) continue;
    best = &profile;
    best_distance = distance;
  }
  return best ? fmt::format("; did you mean {}?", best->name) : did_you_mean(text, names_of(board));
}

std::string called(const catalog::Board& board) { return fmt::format("{} ({})", board.id, board.product); }

// The compute instance profile of `c` slices; the default one when nothing or all slices are asked.
Result<int> find_compute(const catalog::Board& board, const catalog::Profile& profile, std::optional<int> c) {
  const bool whole = !c || *c == profile.compute_slices;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < profile.compute.size(); ++i) {
    const auto& row = profile.compute[i];
    if (whole ? row.is_default : row.compute_slices == *c) return static_cast<int>(i);
    names.push_back(row.name);
  }
  return fail(ErrorCode::not_found,
              fmt::format("no compute instance of {} in {} on {}; it has {}", count_of(c ? *c : 0, "slice"),
                          profile.name, called(board), join(names, ", ")));
}

ProfileMatch match_of(int profile, int compute, const catalog::Board& board, std::string_view text) {
  const auto& found = board.profiles[static_cast<std::size_t>(profile)];
  ProfileMatch match{profile, compute, std::nullopt};
  const std::string& name = found.compute[static_cast<std::size_t>(compute)].name;
  if (name != text) match.spelled_here = name;
  return match;
}

// By exact spelling of the GPU instance profile or of one of its compute instance profiles.
std::optional<ProfileMatch> exact(const catalog::Board& board, std::string_view text) {
  for (std::size_t i = 0; i < board.profiles.size(); ++i) {
    const auto& profile = board.profiles[i];
    for (std::size_t k = 0; k < profile.compute.size(); ++k) {
      const auto& row = profile.compute[k];
      if (row.name == text || (row.is_default && profile.name == text))
        return ProfileMatch{static_cast<int>(i), static_cast<int>(k), std::nullopt};
    }
  }
  return std::nullopt;
}

// By the catalog's spelling of a GPU instance profile that this driver prints in another way.
std::optional<int> by_catalog_name(const catalog::Board& board, std::string_view text) {
  const auto found = std::ranges::find(board.profiles, text, &catalog::Profile::catalog_name);
  if (found == board.profiles.end()) return std::nullopt;
  return static_cast<int>(found - board.profiles.begin());
}

}  // namespace

Result<ProfileName> parse_profile_name(std::string_view text) {
  if (auto name = scan(text)) return *name;
  return fail(ErrorCode::invalid, fmt::format("{} is no profile name: expected one like 3g.20gb, 1c.3g.20gb, "
                                              "1g.10gb+me, 1g.24gb+me.all, 1g.24gb+gfx or 1g.24gb-me",
                                              quote(text)));
}

std::string to_string(const ProfileName& name) {
  std::string out;
  if (name.compute_slices_of_ci && *name.compute_slices_of_ci != name.compute_slices)
    out = fmt::format("{}c.", *name.compute_slices_of_ci);
  out += fmt::format("{}g.{}gb", name.compute_slices, name.gb);
  if (name.attributes.no_me) return out + "-me";
  char separator = '+';
  const auto add = [&](bool has, std::string_view attribute) {
    if (!has) return;
    out += separator;
    out += attribute;
    separator = ',';
  };
  add(name.attributes.me, "me");
  add(name.attributes.me_all, "me.all");
  add(name.attributes.gfx, "gfx");
  return out;
}

int name_gb(Bytes memory, Bytes total) {
  if (total.value == 0) return 0;
  using Wide = unsigned __int128;
  const auto eighths = (Wide{memory.value} * 8 + total.value - 1) / total.value;
  const auto total_gib = (Wide{total.value} + gib(1).value - 1) / gib(1).value;
  return static_cast<int>((eighths * total_gib + 4) / 8);
}

Result<ProfileMatch> find_profile(const catalog::Board& board, std::string_view text) {
  if (!board.has_mig())
    return fail(ErrorCode::not_found,
                fmt::format("{} has no MIG: {} cannot be cut from it", called(board), quote(text)));
  if (const auto match = exact(board, text)) return *match;
  auto name = parse_profile_name(text);
  if (!name) {
    name.error().message += hint(board, text);
    return std::unexpected(std::move(name).error());
  }
  ProfileName whole = *name;
  whole.compute_slices_of_ci.reset();
  std::optional<int> profile;
  if (const auto match = exact(board, to_string(whole))) profile = match->profile;
  if (!profile) profile = by_catalog_name(board, to_string(whole));
  if (!profile) profile = drifted(board, whole);
  if (!profile)
    return fail(ErrorCode::not_found, fmt::format("no profile {} on {}, which has {}{}", quote(text), called(board),
                                                  join(names_of(board), ", "), hint(board, to_string(whole))));
  const auto& found = board.profiles[static_cast<std::size_t>(*profile)];
  const int compute = TRY(find_compute(board, found, name->compute_slices_of_ci));
  return match_of(*profile, compute, board, text);
}

}  // namespace partita::layout
