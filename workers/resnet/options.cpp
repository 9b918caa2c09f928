#include "resnet/options.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace partita::resnet {

const std::string_view kUsage =
    "usage: partita-worker-resnet [OPTION...]\n"
    "\n"
    "Trains a ResNet, or lets it infer, on random pictures, and prints one JSON line per interval, as\n"
    "'partita study --measure' reads them. On the GPU where libtorch can use one, else on the CPU, which each run "
    "says.\n"
    "\n"
    "  --model NAME       resnet18, resnet50 (v1.5), or tiny, for tests (default: $PARTITA_WORKLOAD or resnet50)\n"
    "  --mode MODE        inference or training (default: $PARTITA_MODE or inference)\n"
    "  --batch N          pictures per step (default: $PARTITA_BATCH or 1)\n"
    "  --seconds S        how long to work (default: $PARTITA_SECONDS or 10)\n"
    "  --steps N          end after N steps instead\n"
    "  --interval S       seconds between two lines (default: 1)\n"
    "  --precision P      fp32, tf32, bf16, or fp16, for inference only (default: fp32)\n"
    "  --device D         auto, cpu or cuda (default: auto)\n"
    "  --threads N        threads of the CPU (default: as many as libtorch takes)\n"
    "  --memory-gib G     on the CPU: what goes beyond this is out of memory\n"
    "\n"
    "Out of memory is a result: the last line is {\"t\": ..., \"error\": \"out of memory\"} and the status 0. SIGTERM "
    "and "
    "SIGINT end it\nafter the step in hand, with a last line. The first step is not timed.\n";

namespace {

template <class T>
using Names = std::span<const std::pair<std::string_view, T>>;

constexpr std::pair<std::string_view, Model> kModels[] = {
    {"resnet18", Model::resnet18}, {"resnet50", Model::resnet50}, {"tiny", Model::tiny}};
constexpr std::pair<std::string_view, Mode> kModes[] = {{"inference", Mode::inference}, {"training", Mode::training}};
constexpr std::pair<std::string_view, Precision> kPrecisions[] = {
    {"fp32", Precision::fp32}, {"tf32", Precision::tf32}, {"fp16", Precision::fp16}, {"bf16", Precision::bf16}};
constexpr std::pair<std::string_view, Device> kDevices[] = {
    {"auto", Device::automatic}, {"cpu", Device::cpu}, {"cuda", Device::cuda}};

template <class T>
std::string_view name_in(Names<T> names, T value) {
  return std::ranges::find(names, value, &std::pair<std::string_view, T>::second)->first;
}

template <class T>
Result<void> read_word(const std::string& what, const std::string& text, Names<T> names, T& out) {
  std::vector<std::string> all;
  for (const auto& [name, value] : names) {
    all.emplace_back(name);
    if (name != text) continue;
    out = value;
    return {};
  }
  return fail(ErrorCode::invalid,
              fmt::format("{}: expected {}, found {}{}", what, join(all, ", "), quote(text), did_you_mean(text, all)));
}

template <class T>
Result<T> read_number(const std::string& what, const std::string& text, T least, T most) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value >= least && value <= most) return value;
  return fail(ErrorCode::invalid,
              fmt::format("{}: expected a number from {} to {}, found {}", what, least, most, quote(text)));
}

constexpr double kMostSeconds = 1e6;

// `what`: the option or variable, for errors.
Result<void> set(Options& out, std::string_view option, const std::string& what, const std::string& text) {
  if (option == "--model") return read_word(what, text, Names<Model>(kModels), out.job.model);
  if (option == "--mode") return read_word(what, text, Names<Mode>(kModes), out.job.mode);
  if (option == "--precision") return read_word(what, text, Names<Precision>(kPrecisions), out.job.precision);
  if (option == "--device") return read_word(what, text, Names<Device>(kDevices), out.job.device);
  if (option == "--batch") out.job.batch = TRY(read_number(what, text, 1, 65'536));
  if (option == "--seconds") out.seconds = TRY(read_number(what, text, 0.01, kMostSeconds));
  if (option == "--steps") out.steps = TRY(read_number(what, text, 1, 1'000'000'000));
  if (option == "--interval") out.interval_s = TRY(read_number(what, text, 0.01, 3600.0));
  if (option == "--threads") out.job.threads = TRY(read_number(what, text, 1, 1024));
  if (option == "--memory-gib") out.job.memory_gib = TRY(read_number(what, text, 0.01, 1e5));
  return {};
}

const std::vector<std::string> kOptions = {"--model",    "--mode",      "--batch",  "--seconds", "--steps",
                                           "--interval", "--precision", "--device", "--threads", "--memory-gib"};

Result<void> check(const Options& options) {
  if (options.job.precision == Precision::fp16 && options.job.mode == Mode::training)
    return fail(ErrorCode::invalid, "--precision fp16: training in it would need the loss scaled: use bf16");
  return {};
}

}  // namespace

std::string_view name(Model model) { return name_in(Names<Model>(kModels), model); }
std::string_view name(Mode mode) { return name_in(Names<Mode>(kModes), mode); }
std::string_view name(Precision precision) { return name_in(Names<Precision>(kPrecisions), precision); }

Result<Options> read_options(const std::vector<std::string>& words, const Variable& variable) {
  Options out;
  std::vector<std::string> given;
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string word = words[i];
    if (word == "--help" || word == "-h") {
      out.help = true;
      return out;
    }
    std::optional<std::string> value;
    if (const auto equals = word.find('='); equals != std::string::npos) {
      value = word.substr(equals + 1);
      word.resize(equals);
    }
    if (std::ranges::find(kOptions, word) == kOptions.end())
      return fail(ErrorCode::invalid, fmt::format("unknown option {}{}", quote(word), did_you_mean(word, kOptions)));
    if (!value && ++i == words.size()) return fail(ErrorCode::invalid, fmt::format("{}: a value is missing", word));
    TRY_VOID(set(out, word, word, value ? *value : words[i]));
    given.push_back(word);
  }
  constexpr std::pair<const char*, const char*> kVariables[] = {{"--model", "PARTITA_WORKLOAD"},
                                                                {"--mode", "PARTITA_MODE"},
                                                                {"--batch", "PARTITA_BATCH"},
                                                                {"--seconds", "PARTITA_SECONDS"}};
  for (const auto& [option, key] : kVariables)
    if (const auto text = variable(key); text && std::ranges::find(given, option) == given.end())
      TRY_VOID(set(out, option, key, *text));
  TRY_VOID(check(out));
  return out;
}

}  // namespace partita::resnet
