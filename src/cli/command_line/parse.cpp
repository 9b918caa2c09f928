#include "cli/command_line/parse.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/text.h"

namespace partita::cli {
namespace {

constexpr int kMostPositionals = 10'000;

struct Bound {  // one row of the table and what CLI11 made of it
  std::string key;
  const Option* option = nullptr;  // or a positional
  CLI::Option* parsed = nullptr;
};

struct Parser {
  CLI::App app;
  std::vector<Bound> global;
  std::vector<std::pair<const Verb*, std::vector<Bound>>> verbs;
  std::vector<CLI::App*> verb_apps;  // parallel to verbs
};

void add_options(CLI::App& app, std::span<const Option> options, std::vector<Bound>& bound) {
  const auto accept = [](const CLI::results_t&) { return true; };
  for (const auto& option : options) {
    auto* made = option.value.empty() ? app.add_flag_callback(std::string(option.names), [] {})
                                      : app.add_option(std::string(option.names), accept)
                                            ->expected(1)
                                            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    bound.push_back({std::string(key(option)), &option, made});
  }
}

void build(Parser& parser) {
  auto& app = parser.app;
  app.set_help_flag();
  app.allow_extras();
  app.require_subcommand(0, 1);
  add_options(app, global_options(), parser.global);
  parser.verb_apps.reserve(verbs().size());
  for (const auto& verb : verbs()) {
    auto* parent = &app;
    std::string name(verb.name);
    if (is_subverb(verb)) {
      const auto space = name.find(' ');
      parent = app.get_subcommand(name.substr(0, space));
      parent->require_subcommand(0, 1);
      name.erase(0, space + 1);
    }
    auto* sub = parent->add_subcommand(name);
    sub->set_help_flag();
    sub->fallthrough();
    sub->allow_extras();
    auto& [_, bound] = parser.verbs.emplace_back(&verb, std::vector<Bound>{});
    for (const auto& positional : verb.positionals) {
      auto* made = sub->add_option(std::string(positional.name), [](const CLI::results_t&) { return true; });
      if (positional.repeatable) made->expected(1, kMostPositionals)->allow_extra_args();
      bound.push_back({std::string(positional.name), nullptr, made});
    }
    add_options(*sub, verb.options, bound);
    parser.verb_apps.push_back(sub);
  }
}

std::vector<std::string> spellings(std::span<const Option> options) {
  std::vector<std::string> out;
  for (const auto& option : options)
    for (auto& name : split(option.names, ',')) out.push_back(std::move(name));
  return out;
}

Error unknown_argument(const std::string& argument, const Verb* verb) {
  if (argument.starts_with('-')) {
    auto known = spellings(global_options());
    if (verb) std::ranges::copy(spellings(verb->options), std::back_inserter(known));
    const auto name = argument.substr(0, argument.find('='));
    return {ErrorCode::invalid, "unknown option " + name + did_you_mean(name, known), {}};
  }
  if (verb) {
    std::string message = "unexpected argument \"" + argument + "\" of " + std::string(verb->name);
    if (verb->takes_command != TakesCommand::no) message += "; a command to run stands after --";
    return {ErrorCode::invalid, std::move(message), {}};
  }
  std::vector<std::string> names;
  for (const auto& each : verbs())
    if (!is_subverb(each)) names.emplace_back(each.name);
  return {ErrorCode::invalid,
          "unknown verb \"" + argument + "\"" + did_you_mean(argument, names),
          {"partita --help lists the verbs"}};
}

// CLI11 names the option somewhere in its text: "--emulate: 1 required TEXT missing", "Could not convert: --force = x".
Error worded(const CLI::Error& error, const Verb* verb) {
  const std::string text = error.what();
  const auto start = text.find("--");
  const auto name = start == std::string::npos ? text : text.substr(start, text.find_first_of(": =", start) - start);
  for (const auto options : {global_options(), verb ? verb->options : std::span<const Option>{}})
    for (const auto& option : options) {
      if (name != "--" + std::string(key(option))) continue;
      if (option.value.empty()) return {ErrorCode::invalid, "option " + name + " takes no value", {}};
      return {ErrorCode::invalid, "option " + name + " needs a value: " + std::string(option.value), {}};
    }
  return {ErrorCode::invalid, text, {}};
}

Result<void> collect(const std::vector<Bound>& bound, Parsed& parsed) {
  for (const auto& [name, option, made] : bound) {
    if (made->count() > 0) {
      auto& values = parsed.values[name];
      if (option && option->value.empty()) {
        values = {"true"};
        continue;
      }
      values = made->results();
      if (option && !option->repeatable && values.size() > 1)
        return fail(ErrorCode::invalid, "option --" + name + " is given " + std::to_string(values.size()) + " times (" +
                                            join(values, ", ") + "): give it once");
    } else if (option && !option->environment.empty()) {
      const char* value = std::getenv(std::string(option->environment).c_str());
      if (!value || !*value) continue;
      const auto word = lower(value);
      if (option->value.empty() && (word == "false" || word == "0")) continue;
      if (option->value.empty() && word != "true" && word != "1")
        return fail(ErrorCode::invalid,
                    std::string(option->environment) + ": expected true or false, found \"" + value + "\"");
      parsed.values[name] = {option->value.empty() ? "true" : value};
      parsed.from_environment.insert(name);
    }
  }
  return {};
}

Result<void> check_complete(const Parsed& parsed) {
  const auto& verb = *parsed.verb;
  if (parsed.command && verb.takes_command == TakesCommand::no)
    return fail(ErrorCode::invalid, std::string(verb.name) + " runs no command: remove \"--\" and what follows");
  if (parsed.command && parsed.command->empty()) return fail(ErrorCode::invalid, "the command after -- is missing");
  for (const auto& positional : verb.positionals)
    if (positional.required && !parsed.values.contains(positional.name))
      return fail(ErrorCode::invalid, std::string(verb.name) + " needs " + std::string(positional.name) + ": " +
                                          std::string(positional.help));
  return {};
}

bool takes_value(std::string_view name) {
  const auto has = [&](std::span<const Option> options) {
    return std::ranges::any_of(options,
                               [&](const Option& option) { return key(option) == name && !option.value.empty(); });
  };
  return has(global_options()) || std::ranges::any_of(verbs(), [&](const Verb& verb) { return has(verb.options); });
}

// "--name=": CLI11 would take the next argument for the value.
Result<void> check_values(const std::vector<std::string>& arguments) {
  for (const std::string_view argument : arguments) {
    if (!argument.starts_with("--") || argument.find('=') != argument.size() - 1) continue;
    const auto name = argument.substr(2, argument.size() - 3);
    if (takes_value(name))
      return fail(ErrorCode::invalid, fmt::format("option --{}: nothing stands after the =", name));
  }
  return {};
}

const Verb* parsed_verb(const Parser& parser) {
  const Verb* found = nullptr;  // a sub-verb comes after its verb in the table
  for (std::size_t i = 0; i < parser.verbs.size(); ++i)
    if (parser.verb_apps[i]->parsed()) found = parser.verbs[i].first;
  return found;
}

Result<void> run_parser(Parser& parser, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);  // as CLI11 takes them
  try {
    parser.app.parse(std::move(arguments));
  } catch (const CLI::Error& error) {
    return std::unexpected(worded(error, parsed_verb(parser)));
  }
  const auto extras = parser.app.remaining(true);
  if (extras.empty()) return {};
  const auto option = std::ranges::find_if(extras, [](const auto& extra) { return extra.starts_with('-'); });
  return std::unexpected(unknown_argument(option == extras.end() ? extras.front() : *option, parsed_verb(parser)));
}

}  // namespace

std::optional<std::string> Parsed::text(std::string_view key) const {
  const auto found = values.find(key);
  if (found == values.end() || found->second.empty()) return std::nullopt;
  return found->second.front();
}

std::vector<std::string> Parsed::all(std::string_view key) const {
  const auto found = values.find(key);
  return found == values.end() ? std::vector<std::string>{} : found->second;
}

Result<std::optional<int>> Parsed::number(std::string_view key, int min, int max) const {
  const auto value = text(key);
  if (!value) return std::nullopt;
  int out = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), out);
  if (error != std::errc{} || end != value->data() + value->size() || out < min || out > max)
    return fail(ErrorCode::invalid, "option --" + std::string(key) + ": expected a whole number from " +
                                        std::to_string(min) + " to " + std::to_string(max) + ", found \"" + *value +
                                        "\"");
  return out;
}

Result<std::optional<double>> Parsed::real(std::string_view key, double min, double max) const {
  const auto value = text(key);
  if (!value) return std::nullopt;
  double out = 0;
  const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), out);
  if (error == std::errc{} && end == value->data() + value->size() && std::isfinite(out) && out >= min && out <= max &&
      (out > 0 || std::isfinite(max)))
    return out;
  const auto range = std::isfinite(max) ? fmt::format("a number from {} to {}", min, max) : "a number above 0";
  return fail(ErrorCode::invalid, fmt::format("option --{}: expected {}, found {}", key, range, quote(*value)));
}

Result<Parsed> parse(std::vector<std::string> arguments) {
  Parsed parsed;
  if (const auto dashes = std::ranges::find(arguments, "--"); dashes != arguments.end()) {
    parsed.command.emplace(dashes + 1, arguments.end());
    arguments.erase(dashes, arguments.end());
  }
  TRY_VOID(check_values(arguments));
  Parser parser;
  build(parser);
  TRY_VOID(run_parser(parser, std::move(arguments)));
  parsed.verb = parsed_verb(parser);
  TRY_VOID(collect(parser.global, parsed));
  for (const auto& [verb, bound] : parser.verbs)
    if (verb == parsed.verb) TRY_VOID(collect(bound, parsed));
  if (parsed.verb && !parsed.flag("help")) TRY_VOID(check_complete(parsed));
  return parsed;
}

}  // namespace partita::cli
