#include "cli/command_line/help.h"

#include <algorithm>

#include "base/text.h"
#include "cli/draw/table.h"

namespace partita::cli {
namespace {

constexpr int kIndent = 2;

std::string option_text(const Option& option) {
  std::string out;
  for (const auto& name : split(option.names, ',')) out += (out.empty() ? "" : ", ") + name;
  return option.value.empty() ? out : out + " " + std::string(option.value);
}

std::string heading(const Look& look, std::string_view text) { return '\n' + paint(look, Tone::strong, text) + '\n'; }

// Two columns; the second is wrapped where it meets the width.
std::string two_columns(const Look& look, const std::vector<std::pair<std::string, std::string>>& rows) {
  constexpr int kWidestFirst = 26;
  int first = 0;
  for (const auto& [name, _] : rows)
    if (width_of(name) <= kWidestFirst) first = std::max(first, width_of(name));
  const int column = kIndent + first + 2;
  const std::string margin(static_cast<std::size_t>(column), ' ');
  std::string out;
  for (const auto& [name, text] : rows) {
    out += std::string(kIndent, ' ') + paint(look, Tone::idle, name);
    if (width_of(name) > first)
      out += '\n' + margin;
    else
      out += std::string(static_cast<std::size_t>(first - width_of(name) + 2), ' ');
    out += wrapped(text, std::min(look.width, 100), column, column) + '\n';
  }
  return out;
}

std::string options_block(const Look& look, std::span<const Option> options) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& option : options) {
    auto text = std::string(option.help);
    if (!option.environment.empty()) text += " [$" + std::string(option.environment) + "]";
    rows.emplace_back(option_text(option), std::move(text));
  }
  return two_columns(look, rows);
}

std::string examples_block(const Look& look, std::span<const Example> examples) {
  std::string out;
  for (const auto& example : examples)
    out += "  " + paint(look, Tone::idle, example.command) + "\n      " + std::string(example.says) + '\n';
  return out;
}

std::string paragraphs(const Look& look, std::string_view text) {
  std::string out;
  for (const auto& line : split(text, '\n')) out += wrapped(line, std::min(look.width, 100), 0) + '\n';
  return out;
}

std::vector<std::pair<std::string, std::string>> subverb_rows(const Verb& verb) {
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& each : verbs())
    if (each.name.starts_with(std::string(verb.name) + ' '))
      rows.emplace_back(std::string(each.name), std::string(each.summary));
  return rows;
}

}  // namespace

std::string version_line() { return std::string(kProgram) + " " PARTITA_VERSION "\n"; }

std::string usage(const Verb& verb) {
  std::string out = std::string(kProgram) + " " + std::string(verb.name);
  if (!verb.options.empty()) out += " [OPTIONS]";
  for (const auto& positional : verb.positionals) {
    const auto name = std::string(positional.name) + (positional.repeatable ? "..." : "");
    out += positional.required ? " " + name : " [" + name + "]";
  }
  if (verb.takes_command == TakesCommand::required) out += " -- CMD";
  if (verb.takes_command == TakesCommand::optional) out += " [-- CMD]";
  return out;
}

std::string overview(const Look& look) {
  std::string out = paint(look, Tone::strong, kProgram) + ": " + std::string(kSummary) + '\n';
  out += heading(look, "usage") + "  partita [OPTIONS] VERB ...\n" + heading(look, "verbs");
  std::vector<std::pair<std::string, std::string>> rows;
  for (const auto& verb : verbs())
    if (!is_subverb(verb)) rows.emplace_back(std::string(verb.name), std::string(verb.summary));
  out += two_columns(look, rows) + heading(look, "options, before or after the verb") +
         options_block(look, global_options());
  out += heading(look, "examples") + examples_block(look, global_examples());
  return out + "\npartita VERB --help tells more about a verb, partita man is the manual\n";
}

std::string verb_help(const Verb& verb, const Look& look) {
  std::string out = paint(look, Tone::strong, std::string(kProgram) + " " + std::string(verb.name)) + ": " +
                    std::string(verb.summary) + '\n';
  out += heading(look, "usage") + "  " + usage(verb) + '\n';
  const auto subverbs = subverb_rows(verb);
  for (const auto& each : verbs())
    if (each.name.starts_with(std::string(verb.name) + ' ')) out += "  " + usage(each) + '\n';
  out += '\n' + paragraphs(look, verb.description);
  if (!subverbs.empty()) out += heading(look, "verbs") + two_columns(look, subverbs);
  if (!verb.positionals.empty()) {
    std::vector<std::pair<std::string, std::string>> rows;
    for (const auto& positional : verb.positionals)
      rows.emplace_back(std::string(positional.name), std::string(positional.help));
    out += heading(look, "arguments") + two_columns(look, rows);
  }
  if (!verb.options.empty()) out += heading(look, "options") + options_block(look, verb.options);
  if (!verb.examples.empty()) out += heading(look, "examples") + examples_block(look, verb.examples);
  return out + "\npartita --help lists the options of all verbs\n";
}

}  // namespace partita::cli
