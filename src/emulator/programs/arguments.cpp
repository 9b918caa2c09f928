#include "emulator/programs/arguments.h"

#include <charconv>
#include <span>

#include "base/text.h"

namespace partita::emulator::programs {

namespace {

enum class Value { none, optional, required };

struct Flag {
  std::string_view short_name, long_name;
  Value value = Value::none;
  std::optional<Action> action{};  // none: it adds to one
};

constexpr Flag kFlags[] = {
    {"-h", "--help", Value::none, Action::help},
    {"", "--version", Value::none, Action::version},
    {"-L", "--list-gpus", Value::none, Action::list},
    {"-q", "--query", Value::none, Action::query},
    {"", "--query-gpu", Value::required, Action::query_gpu},
    {"", "--query-compute-apps", Value::required, Action::query_apps},
    {"-mig", "--multi-instance-gpu", Value::required, Action::mig_mode},
    {"-pm", "--persistence-mode", Value::required, Action::persistence},
    {"-r", "--gpu-reset", Value::none, Action::reset},
    {"-i", "--id", Value::required},
    {"-x", "--xml-format"},
    {"-d", "--display", Value::required},
    {"-f", "--filename", Value::required},
    {"", "--format", Value::required},
};

constexpr Flag kMigFlags[] = {
    {"-h", "--help", Value::none, Action::mig_help},
    {"-lgip", "--list-gpu-instance-profiles", Value::none, Action::gpu_profiles},
    {"-lgipp", "--list-gpu-instance-possible-placements", Value::none, Action::gpu_placements},
    {"-lgi", "--list-gpu-instances", Value::none, Action::gpu_instances},
    {"-cgi", "--create-gpu-instance", Value::required, Action::create_gpu},
    {"-dgi", "--destroy-gpu-instance", Value::none, Action::destroy_gpu},
    {"-lcip", "--list-compute-instance-profiles", Value::none, Action::compute_profiles},
    {"-lcipp", "--list-compute-instance-possible-placements", Value::none, Action::compute_placements},
    {"-lci", "--list-compute-instances", Value::none, Action::compute_instances},
    {"-cci", "--create-compute-instance", Value::optional, Action::create_compute},
    {"-dci", "--destroy-compute-instance", Value::none, Action::destroy_compute},
    {"-i", "--id", Value::required},
    {"-gi", "--gpu-instance-id", Value::required},
    {"-ci", "--compute-instance-id", Value::required},
    {"-C", "--default-compute-instance"},
};

std::vector<std::string> list_of(std::string_view text) {
  std::vector<std::string> parts;
  for (const std::string& part : split(text, ',')) parts.emplace_back(trim(part));
  return parts;
}

Result<std::vector<int>> numbers_of(std::string_view flag, std::string_view text) {
  std::vector<int> numbers;
  for (const std::string& part : list_of(text)) {
    int number = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), number);
    if (error != std::errc{} || end != part.data() + part.size() || number < 0)
      return fail(ErrorCode::invalid, "Option " + std::string(flag) + " is not a list of ids: " + one_line(text));
    numbers.push_back(number);
  }
  return numbers;
}

// The kinds of -d and the tags of what each shows.
constexpr std::pair<std::string_view, std::string_view> kSections[] = {
    {"MEMORY", "fb_memory_usage"},
    {"MEMORY", "bar1_memory_usage"},
    {"UTILIZATION", "utilization"},
    {"ECC", "ecc_mode"},
    {"ECC", "ecc_errors"},
    {"TEMPERATURE", "temperature"},
    {"POWER", "gpu_power_readings"},
    {"CLOCK", "clocks"},
    {"CLOCK", "max_clocks"},
    {"COMPUTE", "compute_mode"},
    {"PIDS", "processes"},
    {"PERFORMANCE", "performance_state"},
    {"ACCOUNTING", "accounting_mode"},
};

Result<std::vector<std::string>> sections_of(std::string_view text) {
  std::vector<std::string> tags;
  for (const std::string& word : list_of(text)) {
    const std::size_t before = tags.size();
    for (const auto& [kind, tag] : kSections)
      if (kind == word) tags.emplace_back(tag);
    if (tags.size() == before)
      return fail(ErrorCode::invalid,
                  "Unknown display type: " + one_line(word) +
                      "; this stand-in has MEMORY, UTILIZATION, ECC, TEMPERATURE, POWER, CLOCK, COMPUTE, PIDS, "
                      "PERFORMANCE, ACCOUNTING");
  }
  return tags;
}

Result<void> take_format(Arguments& into, std::string_view text) {
  const std::vector<std::string> words = list_of(text);
  if (words.front() != "csv")
    return fail(ErrorCode::invalid, "\"--format=\" takes csv, with noheader and nounits as wished: " + one_line(text));
  for (const std::string& word : std::span(words).subspan(1)) {
    if (word == "noheader")
      into.header = false;
    else if (word == "nounits")
      into.units = false;
    else
      return fail(ErrorCode::invalid, "Unknown format option: " + one_line(word));
  }
  return {};
}

Result<void> take(Arguments& into, const Flag& flag, const std::optional<std::string>& value) {
  if (flag.action) {
    into.action = *flag.action;
    if (value) into.values = list_of(*value);
    return {};
  }
  const std::string_view name = flag.long_name;
  const std::string text = value.value_or("");  // flags with a value always have one here
  if (name == "--id") into.gpus = list_of(text);
  if (name == "--xml-format") into.xml = true;
  if (name == "--display") into.sections = TRY(sections_of(text));
  if (name == "--filename") into.file = text;
  if (name == "--default-compute-instance") into.default_compute = true;
  if (name == "--format") return take_format(into, text);
  if (name == "--gpu-instance-id") into.gpu_instances = TRY(numbers_of("-gi", text));
  if (name == "--compute-instance-id") into.compute_instances = TRY(numbers_of("-ci", text));
  return {};
}

const Flag* find(std::span<const Flag> flags, std::string_view word) {
  for (const Flag& flag : flags)
    if (word == flag.long_name || (!flag.short_name.empty() && word == flag.short_name)) return &flag;
  return nullptr;
}

}  // namespace

Result<Arguments> parse_arguments(const std::vector<std::string>& words) {
  const bool mig = !words.empty() && words.front() == "mig";
  const std::span<const Flag> flags = mig ? std::span<const Flag>(kMigFlags) : std::span<const Flag>(kFlags);
  Arguments arguments;
  if (mig) arguments.action = Action::mig_help;
  for (std::size_t i = mig ? 1 : 0; i < words.size(); ++i) {
    // --id=0 and --id 0 are the same.
    const std::size_t equals = words[i].starts_with("--") ? words[i].find('=') : std::string::npos;
    const Flag* flag = find(flags, words[i].substr(0, equals));
    if (flag == nullptr)
      return fail(ErrorCode::invalid, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for help.",
                  {"this stand-in has no option " + one_line(words[i])});
    std::optional<std::string> value;
    if (equals != std::string::npos) value = words[i].substr(equals + 1);
    const bool follows = i + 1 < words.size() && !words[i + 1].starts_with("-");
    if (!value && flag->value != Value::none && follows) value = words[++i];
    if (flag->value == Value::required && !value)
      return fail(ErrorCode::invalid, "Option " + words[i] + " is missing its value.");
    TRY_VOID(take(arguments, *flag, value));
  }
  return arguments;
}

std::string_view help_text() {
  return "nvidia-smi, a stand-in of Partita's emulated driver (not NVIDIA's program)\n"
         "\n"
         "usage: nvidia-smi [OPTION...]   or   nvidia-smi mig OPTION...\n"
         "\n"
         "  -L, --list-gpus            GPUs and MIG devices with their UUIDs\n"
         "  -q, --query [-x] [-d SECTION,...] [-f FILE]\n"
         "                             all that is known, as text or (-x) as XML\n"
         "  --query-gpu=FIELD,... --format=csv[,noheader][,nounits]\n"
         "  --query-compute-apps=FIELD,... --format=csv[,noheader][,nounits]\n"
         "  -mig, --multi-instance-gpu 0|1\n"
         "  -pm, --persistence-mode 0|1\n"
         "  -r, --gpu-reset\n"
         "  -i, --id GPU,...           these GPUs only: index, UUID, serial or bus id\n"
         "  mig                        GPU instances and compute instances: nvidia-smi mig -h\n"
         "\n"
         "Without options: a table. What it prints comes from the emulated NVML; texts follow NVIDIA's program.\n";
}

std::string_view mig_help_text() {
  return "nvidia-smi mig, a stand-in of Partita's emulated driver (not NVIDIA's program)\n"
         "\n"
         "usage: nvidia-smi mig [-i GPU,...] OPTION...\n"
         "\n"
         "  -lgip    profiles of GPU instances          -lgipp   where they may be placed\n"
         "  -lgi     GPU instances\n"
         "  -cgi PROFILE[:START],... [-C]   create GPU instances; -C: each with its compute instance\n"
         "  -dgi [-gi ID,...]               destroy GPU instances\n"
         "  -lcip    profiles of compute instances      -lcipp   where they may be placed\n"
         "  -lci     compute instances\n"
         "  -cci [PROFILE[:START],...] [-gi ID,...]     create compute instances\n"
         "  -dci [-ci ID,...] [-gi ID,...]              destroy compute instances\n"
         "\n"
         "A PROFILE is an id (9) or a name (3g.20gb).\n";
}

}  // namespace partita::emulator::programs
