#include "fleet/online/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>

#include "base/csv.h"
#include "base/text.h"
#include "layout/profile_name.h"

namespace partita::fleet {

namespace {

constexpr double kLatest = 1e15;  // seconds: small enough that sums stay exact to a second
constexpr std::string_view kOpenb = "arrival=creation_time,end=deletion_time,share=gpu_milli/1000,gpus=num_gpu";

using Member = std::pair<std::string_view, TraceColumn TraceColumns::*>;
constexpr std::array<Member, 7> kWords{{{"arrival", &TraceColumns::arrival},
                                        {"duration", &TraceColumns::duration},
                                        {"end", &TraceColumns::end},
                                        {"profile", &TraceColumns::profile},
                                        {"share", &TraceColumns::share},
                                        {"gpus", &TraceColumns::gpus},
                                        {"movable", &TraceColumns::movable}}};

Result<TraceColumn> column_of(std::string_view text) {
  TraceColumn out;
  const auto slash = text.rfind('/');
  out.name = std::string(trim(text.substr(0, slash)));
  if (out.name.empty()) return fail(ErrorCode::invalid, "expected a column's name, found nothing");
  if (slash == std::string_view::npos) return out;
  const auto number = trim(text.substr(slash + 1));
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), out.divisor);
  if (error != std::errc{} || stop != number.data() + number.size() || !(out.divisor > 0) || out.divisor > kLatest)
    return fail(ErrorCode::invalid, fmt::format("expected a number above 0 after \"/\", found {}", quote(number)));
  return out;
}

Result<void> check(const TraceColumns& columns) {
  const auto one_of = [](const TraceColumn& a, const TraceColumn& b) { return a.name.empty() != b.name.empty(); };
  if (columns.arrival.name.empty()) return fail(ErrorCode::invalid, "columns: arrival is missing");
  if (!one_of(columns.duration, columns.end))
    return fail(ErrorCode::invalid, "columns: expected either duration or end");
  if (!one_of(columns.profile, columns.share))
    return fail(ErrorCode::invalid, "columns: expected either profile or share");
  if (!columns.gpus.name.empty() && columns.share.name.empty())
    return fail(ErrorCode::invalid, "columns: gpus goes with share, not with profile");
  return {};
}

class Reader {
 public:
  Reader(const catalog::Board& board, const TraceColumns& columns) : board_(board), columns_(columns) {}

  Result<void> row(const CsvTable& table) {
    if (!resolved_) TRY_VOID(resolve(table));
    std::int64_t gpus = 1;
    if (gpus_) {
      constexpr double kMostGpusOfOne = 4096;
      const double asked = TRY(number(table, *gpus_, columns_.gpus, 0, kMostGpusOfOne));
      gpus = static_cast<std::int64_t>(asked);
      if (static_cast<double>(gpus) != asked) return wrong(table, columns_.gpus, "expected a whole number of GPUs");
      if (gpus == 0) {
        ++out_.without_gpu;
        return {};
      }
    }
    Request request;
    request.arrival = TRY(number(table, arrival_, columns_.arrival, 0, kLatest));
    request.duration = TRY(duration(table, request.arrival));
    request.profile = static_cast<std::uint32_t>(TRY(profile(table, gpus > 1)));
    if (movable_) request.movable = TRY(movable(table, *movable_));
    if (gpus > 1) ++out_.split;
    if (out_.requests.size() + static_cast<std::size_t>(gpus) > kMostRequests)
      return fail(ErrorCode::invalid,
                  fmt::format("{}:{}: more than {} requests", table.file, table.lines[0], kMostRequests));
    out_.requests.insert(out_.requests.end(), static_cast<std::size_t>(gpus), request);
    return {};
  }

  Result<Trace> done(const std::string& file) {
    if (out_.requests.empty()) return fail(ErrorCode::invalid, file + ": expected requests for GPUs, found none");
    std::ranges::stable_sort(out_.requests, {}, &Request::arrival);
    for (const auto& request : out_.requests) out_.profiles.push_back(static_cast<int>(request.profile));
    std::ranges::sort(out_.profiles);
    out_.profiles.erase(std::ranges::unique(out_.profiles).begin(), out_.profiles.end());
    out_.profiles.shrink_to_fit();
    out_.by_share = !profile_;
    for (auto& request : out_.requests)
      request.profile = static_cast<std::uint32_t>(
          std::ranges::lower_bound(out_.profiles, static_cast<int>(request.profile)) - out_.profiles.begin());
    return std::move(out_);
  }

 private:
  Result<void> resolve(const CsvTable& table) {
    arrival_ = TRY(table.require(columns_.arrival.name));
    const auto wanted = [&](const TraceColumn& column) -> Result<std::optional<std::size_t>> {
      if (column.name.empty()) return std::nullopt;
      return TRY(table.require(column.name));
    };
    duration_ = TRY(wanted(columns_.duration));
    end_ = TRY(wanted(columns_.end)).value_or(0);
    profile_ = TRY(wanted(columns_.profile));
    share_ = TRY(wanted(columns_.share)).value_or(0);
    gpus_ = TRY(wanted(columns_.gpus));
    movable_ = TRY(wanted(columns_.movable));
    if (!movable_ && columns_.movable.name.empty()) movable_ = table.column("movable");
    resolved_ = true;
    return {};
  }

  static std::unexpected<Error> wrong(const CsvTable& table, const TraceColumn& column, const std::string& message) {
    return fail(ErrorCode::invalid,
                fmt::format("{}:{}: column {}: {}", table.file, table.lines[0], column.name, message));
  }

  static Result<double> number(const CsvTable& table, std::size_t at, const TraceColumn& column, double least,
                               double most) {
    const auto value = TRY(table.number(0, at));
    if (!value) return wrong(table, column, "expected a number, found nothing; leave rows with gaps out");
    const double out = *value / column.divisor;
    if (out < least || out > most)
      return wrong(table, column, fmt::format("expected a number from {} to {}, found {}", least, most, out));
    return out;
  }

  Result<double> duration(const CsvTable& table, double arrival) const {
    if (duration_) return number(table, *duration_, columns_.duration, 0, kLatest);
    const double end = TRY(number(table, end_, columns_.end, 0, kLatest));
    if (end < arrival)
      return wrong(table, columns_.end, fmt::format("ends at {}, before it arrives at {}", end, arrival));
    return end - arrival;
  }

  Result<int> profile(const CsvTable& table, bool whole) {
    if (profile_) return named(table, table.rows[0][*profile_]);
    const double share = whole ? 1 : TRY(number(table, share_, columns_.share, 0, 1));
    if (share <= 0) return wrong(table, columns_.share, "expected a share above 0, found 0");
    const auto known = by_share_.find(share);
    if (known != by_share_.end()) return known->second;
    const auto found = profile_for(board_, share);
    if (!found)
      return wrong(table, columns_.share, fmt::format("no profile of {} has {} of the GPU", board_.id, share));
    constexpr std::size_t kRemembered = 10'000;
    if (by_share_.size() < kRemembered) by_share_.emplace(share, *found);
    return *found;
  }

  Result<int> named(const CsvTable& table, const std::string& text) {
    const auto known = by_name_.find(text);
    if (known != by_name_.end()) return known->second;
    const auto match = layout::find_profile(board_, trim(text));
    if (!match)
      return std::unexpected(in_context(
          fmt::format("{}:{}: column {}", table.file, table.lines[0], columns_.profile.name), match.error()));
    by_name_.emplace(text, match->profile);
    return match->profile;
  }

  static Result<bool> movable(const CsvTable& table, std::size_t at) {
    const auto text = lower(trim(table.rows[0][at]));
    if (text == "true" || text == "1" || text == "yes") return true;
    if (text == "false" || text == "0" || text == "no") return false;
    return wrong(table, {table.columns[at]}, fmt::format("expected true or false, found {}", quote(text)));
  }

  const catalog::Board& board_;
  const TraceColumns& columns_;
  bool resolved_ = false;
  std::size_t arrival_ = 0;
  std::optional<std::size_t> duration_, profile_, gpus_, movable_;
  std::size_t end_ = 0, share_ = 0;  // where there is no duration_, no profile_: check() saw to it
  std::map<double, int> by_share_;
  std::map<std::string, int, std::less<>> by_name_;
  Trace out_;
};

}  // namespace

Result<TraceColumns> parse_trace_columns(std::string_view text) {
  if (trim(text) == "openb") return parse_trace_columns(kOpenb);
  TraceColumns out{{}, {}, {}, {}, {}, {}, {}};
  for (const auto& part : split(text, ',')) {
    const auto equals = part.find('=');
    const auto word = trim(std::string_view(part).substr(0, equals));
    const auto* known = std::ranges::find(kWords, word, &Member::first);
    if (known == kWords.end() || equals == std::string::npos)
      return fail(
          ErrorCode::invalid,
          fmt::format("columns: expected \"openb\" or WORD=COLUMN with arrival, duration, end, profile, share, gpus "
                      "or movable, found {}",
                      quote(part)));
    auto& column = out.*known->second;
    if (!column.name.empty()) return fail(ErrorCode::invalid, fmt::format("columns: {} is there twice", word));
    auto read = column_of(std::string_view(part).substr(equals + 1));
    if (!read) return std::unexpected(in_context(fmt::format("columns: {}", word), read.error()));
    column = *std::move(read);
    if (column.divisor != 1 && (word == "profile" || word == "movable"))
      return fail(ErrorCode::invalid, fmt::format("columns: {} is no number that could be divided", word));
  }
  TRY_VOID(check(out));
  return out;
}

Result<Trace> read_trace(std::string_view text, const std::string& file, const catalog::Board& board,
                         const TraceColumns& columns) {
  TRY_VOID(check(columns));
  Reader reader(board, columns);
  TRY_VOID(visit_csv(text, file, [&](const CsvTable& table) { return reader.row(table); }));
  return reader.done(file);
}

std::optional<int> profile_for(const catalog::Board& board, double share) {
  std::optional<std::tuple<int, int, int>> best;
  constexpr double kEqual = 1e-9;
  for (std::size_t p = 0; p < board.profiles.size(); ++p) {
    const auto& profile = board.profiles[p];
    if (profile.attributes != catalog::Attributes{} || profile.placements.empty()) continue;
    if (profile.compute_slices < (share * board.compute_slices) - kEqual ||
        profile.memory_slices < (share * board.memory_slices) - kEqual)
      continue;
    const std::tuple rank(profile.memory_slices, profile.compute_slices, static_cast<int>(p));
    if (!best || rank < *best) best = rank;
  }
  if (!best) return std::nullopt;
  return std::get<2>(*best);
}

}  // namespace partita::fleet
