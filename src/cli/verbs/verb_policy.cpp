// partita policy simulate, policy tune: placement policies on traces and mixes.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "base/duration.h"
#include "base/file.h"
#include "base/text.h"
#include "cli/command_line/verbs_policy.h"
#include "cli/common.h"
#include "cli/draw/done.h"
#include "cli/draw/policy_answer.h"
#include "cli/draw/progress.h"
#include "cli/draw/report_file.h"
#include "cli/verbs/run_policy.h"
#include "fleet/online/policy_file.h"
#include "fleet/online/policy_tune.h"
#include "fleet/online/trace.h"
#include "layout/profile_name.h"

namespace partita::cli {
namespace {

constexpr int kMostGpus = 1'000'000;
constexpr std::size_t kSamples = 200;

std::string shown(const std::string& file) { return file == "-" ? "standard input" : file; }

Result<std::shared_ptr<const catalog::Board>> board_of(const Parsed& parsed) {
  const auto id = parsed.text("board");
  if (!id)
    return fail(ErrorCode::invalid, std::string(parsed.verb->name) + " needs the GPUs' board: --board BOARD",
                {"partita boards lists them"});
  auto catalog = TRY(open_catalog(parsed));
  auto board = TRY(catalog.board(*id));
  if (!board->has_mig()) return fail(ErrorCode::impossible, board->id + " has no MIG");
  return board;
}

Result<fleet::Trace> trace_of(const Parsed& parsed, const std::string& file, const catalog::Board& board) {
  fleet::TraceColumns columns;
  if (const auto text = parsed.text("columns")) columns = TRY(fleet::parse_trace_columns(*text));
  const auto text = TRY(read_file(file, fleet::kMostTraceBytes));
  return fleet::read_trace(text, shown(file), board, columns);
}

Result<double> seconds(const Parsed& parsed, const std::string& option) {
  const auto text = parsed.text(option);
  if (!text) return 0;
  const auto duration = parse_duration(*text);
  if (!duration) return std::unexpected(in_context("option --" + option, duration.error()));
  return std::chrono::duration<double>(*duration).count();
}

bool is_file(const std::string& policy) { return policy.find('/') != std::string::npos || policy.ends_with(".yaml"); }

Result<fleet::Potential> weights_in(const std::string& file, const fleet::Features& features) {
  const auto text = TRY(read_file(file));
  return fleet::read_weights(text, file, features);
}

Result<fleet::Policy> policy_of(const std::string& text, const fleet::Features& features) {
  if (is_file(text)) return fleet::Policy{fleet::Rule::potential, TRY(weights_in(text, features))};
  const auto rule = fleet::rule_named(text);
  if (!rule)
    return fail(ErrorCode::invalid,
                fmt::format("option --policy: expected one of {}, or a file of weights, found {}{}",
                            join(split(kRules, ' '), ", "), quote(text), did_you_mean(text, split(kRules, ' '))));
  if (*rule != fleet::Rule::potential) return fleet::Policy{*rule};
  return fleet::Policy{*rule, TRY(fleet::shipped_weights(features))};
}

Result<fleet::RunOptions> run_options(const Parsed& parsed, PolicyAnswer& answer) {
  fleet::RunOptions out;
  out.gpus = answer.gpus;
  out.patience = answer.patience;
  out.from = answer.trace.requests.front().arrival;
  if (answer.trace.requests.back().arrival > out.from) out.samples = kSamples;
  if (!answer.pause) {
    if (parsed.flag("movable"))
      return fail(ErrorCode::invalid, "option --movable says what may be moved: say with --migrate PAUSE that it is");
    return out;
  }
  auto any = parsed.flag("movable");
  for (auto& request : answer.trace.requests) {
    request.movable = request.movable || parsed.flag("movable");
    any = any || request.movable;
  }
  if (!any)
    return fail(ErrorCode::invalid,
                "option --migrate: no request of the trace may be moved: add a column movable, or "
                "--movable");
  return out;
}

Result<void> serve(const Parsed& parsed, PolicyAnswer& answer) {
  const auto states = TRY(fleet::GpuStates::of(answer.board, answer.trace.profiles));
  const fleet::Features features(answer.board);
  auto options = TRY(run_options(parsed, answer));
  auto names = parsed.all("policy");
  if (names.empty()) names = split(kRules, ' ');
  std::vector<std::pair<std::string, fleet::Policy>> policies;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name)
      return fail(ErrorCode::invalid, fmt::format("option --policy: {} is given twice", quote(*name)));
    policies.emplace_back(*name, TRY(policy_of(*name, features)));
  }
  for (const auto& [name, policy] : policies) {
    const fleet::Scores scores(states, policy);
    options.migration.reset();
    answer.runs.push_back({name, fleet::run(states, scores, answer.trace.requests, options)});
    if (!answer.pause) continue;
    options.migration = fleet::Migration{*answer.pause, std::nullopt};
    answer.runs.push_back({name + ", moving", fleet::run(states, scores, answer.trace.requests, options)});
  }
  return {};
}

std::string command_of(const Parsed& parsed) {
  const auto out = "partita policy simulate " + shell_word(parsed.text("TRACE").value_or("-")) +
                   as_typed(parsed, {"board", "gpus", "columns", "policy", "wait", "migrate"});
  return parsed.flag("movable") ? out + " --movable" : out;
}

// ---- tune

// Shares of `count` profiles from small to large, as four kinds of demand.
std::vector<std::vector<double>> usual_mixes(std::size_t count) {
  const std::vector<std::vector<double>> of_six{
      {1, 1, 1, 1, 1, 1}, {30, 25, 20, 10, 10, 5}, {5, 10, 10, 20, 25, 30}, {30, 15, 5, 5, 15, 30}};
  std::vector<std::vector<double>> out;
  for (const auto& six : of_six) {
    std::vector<double> mix;
    for (std::size_t i = 0; i < count; ++i)
      mix.push_back(six[count < 2 ? 0
                                  : static_cast<std::size_t>(
                                        std::lround(5.0 * static_cast<double>(i) / static_cast<double>(count - 1)))]);
    out.push_back(std::move(mix));
  }
  return out;
}

struct TuneProblem {
  std::vector<int> profiles;
  std::vector<std::map<int, double>> mixes;  // by profile
};

std::optional<double> above_zero(const std::string& text, double most) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && value > 0 && value <= most ? std::optional(value) : std::nullopt;
}

// "1g.5gb=30,7g.40gb=10".
Result<std::map<int, double>> parse_mix(const std::string& text, const catalog::Board& board) {
  std::map<int, double> out;
  for (const auto& part : split(text, ',')) {
    const auto equals = part.find('=');
    const auto match = layout::find_profile(board, trim(std::string_view(part).substr(0, equals)));
    if (!match) return std::unexpected(in_context("option --mix", match.error()));
    const auto profile = match->profile;
    constexpr double kMost = 1e9;
    const auto share = above_zero(equals == std::string::npos ? "" : part.substr(equals + 1), kMost);
    if (!share)
      return fail(ErrorCode::invalid,
                  fmt::format("option --mix: expected PROFILE=SHARE with a share above 0, at most 1000000000, found {}",
                              quote(part)));
    if (!out.emplace(profile, *share).second)
      return fail(ErrorCode::invalid, fmt::format("option --mix: {} is there twice", quote(part)));
  }
  return out;
}

Result<TuneProblem> mixes_of(const Parsed& parsed, const catalog::Board& board) {
  TuneProblem out;
  for (const auto& text : parsed.all("mix")) out.mixes.push_back(TRY(parse_mix(text, board)));
  if (out.mixes.empty()) {
    for (std::size_t p = 0; p < board.profiles.size(); ++p)
      if (board.profiles[p].attributes == catalog::Attributes{} && !board.profiles[p].placements.empty())
        out.profiles.push_back(static_cast<int>(p));
    for (const auto& shares : usual_mixes(out.profiles.size())) {
      auto& mix = out.mixes.emplace_back();
      for (std::size_t i = 0; i < shares.size(); ++i) mix[out.profiles[i]] = shares[i];
    }
    return out;
  }
  for (const auto& mix : out.mixes)
    for (const auto& [profile, share] : mix) out.profiles.push_back(profile);
  std::ranges::sort(out.profiles);
  out.profiles.erase(std::ranges::unique(out.profiles).begin(), out.profiles.end());
  return out;
}

Result<std::vector<double>> loads_of(const Parsed& parsed) {
  std::vector<double> out;
  for (const auto& text : parsed.all("load")) {
    constexpr double kMost = 100;
    const auto load = above_zero(text, kMost);
    if (!load)
      return fail(ErrorCode::invalid,
                  fmt::format("option --load: expected a number above 0, at most {}, found {}", kMost, quote(text)));
    out.push_back(*load);
  }
  if (out.empty()) out = {0.85, 1, 1.3};
  return out;
}

Result<fleet::TuneCases> cases_of(const Parsed& parsed, const catalog::Board& board, std::uint32_t gpus,
                                  std::vector<int>& profiles) {
  fleet::TuneCases out;
  if (const auto file = parsed.text("TRACE")) {
    for (const auto* other : {"mix", "load", "requests"})
      if (parsed.flag(other))
        return fail(ErrorCode::invalid, fmt::format("a trace and option --{} do not go together", other));
    auto trace = TRY(trace_of(parsed, *file, board));
    profiles = trace.profiles;
    out.traces.push_back({std::move(trace.requests), gpus, TRY(seconds(parsed, "wait"))});
    return out;
  }
  for (const auto* other : {"columns", "wait"})
    if (parsed.flag(other)) return fail(ErrorCode::invalid, fmt::format("option --{} needs a trace", other));
  const auto problem = TRY(mixes_of(parsed, board));
  profiles = problem.profiles;
  for (const auto load : TRY(loads_of(parsed)))
    for (const auto& mix : problem.mixes) {
      fleet::Mix one{std::vector<double>(profiles.size()), load, gpus, 0};
      for (std::size_t p = 0; p < profiles.size(); ++p)
        if (const auto share = mix.find(profiles[p]); share != mix.end()) one.shares[p] = share->second;
      out.mixes.push_back(std::move(one));
    }
  return out;
}

std::string tune_command(const Parsed& parsed) {
  std::string out = "partita policy tune";
  if (const auto trace = parsed.text("TRACE")) out += " " + shell_word(*trace);
  return out + as_typed(parsed, {"board", "gpus", "columns", "wait", "mix", "load", "start", "generations", "requests",
                                 "seed"});
}

Result<fleet::TuneOptions> tune_options(const Parsed& parsed, const fleet::Features& features) {
  fleet::TuneOptions out;
  out.generations = TRY(parsed.number("generations", 1, 100'000)).value_or(out.generations);
  out.requests =
      static_cast<std::size_t>(TRY(parsed.number("requests", 100, 1'000'000)).value_or(static_cast<int>(out.requests)));
  out.seed = static_cast<std::uint64_t>(TRY(parsed.number("seed", 0, 2'147'483'647)).value_or(1));
  const auto start = parsed.text("start");
  if (start == "plain") return out;
  if (start) {
    out.start = TRY(weights_in(*start, features));
  } else if (auto shipped = fleet::shipped_weights(features)) {
    out.start = *std::move(shipped);
  }
  constexpr double kFromKnown = 0.3;  // of weights that are good already
  if (out.start) out.spread = kFromKnown;
  return out;
}

// What the weights accept, of what: on a trace as `policy simulate` with it prints.
std::string said_of(const Parsed& parsed, const fleet::Tuned& tuned, const fleet::TuneCases& cases) {
  const auto shares = [](const fleet::Accepted& accepted) {
    return fmt::format("{:.2f} % of the requests and {:.2f} % of the memory slices", 100 * accepted.requests,
                       100 * accepted.slices);
  };
  const auto on = cases.traces.empty()
                      ? fmt::format("mean over {} not tuned on", count_of(cases.mixes.size(), "drawn trace"))
                      : "of " + shown(parsed.text("TRACE").value_or("-"));
  auto out = fmt::format("they accept {} ({}, simulated)", shares(tuned.accepted), on);
  if (tuned.kept_start) return out + "; these are the weights at the start: the search found no better ones";
  return out + fmt::format("; the weights at the start: {}", shares(tuned.at_start));
}

}  // namespace

Result<int> run_policy(const Parsed& /*parsed*/) {
  return fail(ErrorCode::invalid, "policy needs a verb of its own: partita policy simulate or tune");
}

Result<int> run_policy_simulate(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  const auto file = parsed.text("output-file");
  const auto report = TRY(report_format(parsed, file));
  if (!file && parsed.flag("format"))
    return fail(ErrorCode::invalid,
                "option --format is the report's: say where it goes with -O FILE, or -O - for standard output");
  if (file && *file != "-") TRY_VOID(can_write_file(*file));
  PolicyAnswer answer;
  answer.board = TRY(board_of(parsed));
  const auto gpus = TRY(parsed.number("gpus", 1, kMostGpus));
  if (!gpus) return fail(ErrorCode::invalid, "policy simulate needs the number of GPUs: --gpus N");
  answer.gpus = static_cast<std::uint32_t>(*gpus);
  answer.patience = TRY(seconds(parsed, "wait"));
  if (parsed.flag("migrate")) answer.pause = TRY(seconds(parsed, "migrate"));
  const auto trace = parsed.text("TRACE").value_or("-");
  answer.file = shown(trace);
  answer.trace = TRY(trace_of(parsed, trace, *answer.board));
  answer.command = command_of(parsed);
  TRY_VOID(serve(parsed, answer));
  if (file) {
    const auto text = written({report_on_policies(answer)}, report, "");
    if (*file == "-") {
      TRY_VOID(print(text));
      return 0;
    }
    TRY_VOID(write_file_atomically(*file, text));
  }
  if (format != Format::table) {
    TRY_VOID(print_json(format, to_json(answer)));
    return 0;
  }
  TRY_VOID(print(draw_policies(output_look(parsed), answer) + (file ? "\nreport: " + *file + '\n' : "")));
  return 0;
}

Result<int> run_policy_tune(const Parsed& parsed) {
  const auto format = TRY(format_of(parsed));
  auto file = parsed.text("output-file");
  if (file == "-") file.reset();
  if (!file && format == Format::json)
    return fail(ErrorCode::invalid, "weights are written as YAML: option -o json goes with -O FILE");
  if (file) TRY_VOID(can_write_file(*file));
  const auto board = TRY(board_of(parsed));
  const auto gpus = static_cast<std::uint32_t>(TRY(parsed.number("gpus", 1, kMostGpus)).value_or(100));
  std::vector<int> profiles;
  const auto cases = TRY(cases_of(parsed, *board, gpus, profiles));
  const auto states = TRY(fleet::GpuStates::of(board, profiles));
  const fleet::Features features(board);
  auto options = TRY(tune_options(parsed, features));
  fleet::Tuned tuned;
  {
    const auto steps = parsed.flag("debug") ? DrawnProgress::Steps::all : DrawnProgress::Steps::drawn;
    DrawnProgress progress(look_of(STDERR_FILENO, parsed.flag("no-color")), steps);
    options.progress = [&](int generation, double score) {
      progress.step(generation, options.generations,
                    fmt::format("accepts {:.3f} % (requests and slices)", 100 * score));
    };
    tuned = fleet::tune(states, features, cases, options);
  }
  const auto text = fleet::write_weights(features, tuned.weights, tune_command(parsed));
  if (!file) {
    TRY_VOID(print(text));
    return 0;
  }
  TRY_VOID(write_file_atomically(*file, text));
  TRY_VOID(print_done(format, fmt::format("weights: {}; {}", *file, said_of(parsed, tuned, cases))));
  return 0;
}

}  // namespace partita::cli
