// The table of verbs as a man page (roff) and as Markdown.
#include "base/text.h"
#include "cli/command_line/help.h"

namespace partita::cli {
namespace {

// Text that roff prints as it is: backslashes, hyphens and lines that look like requests.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else
      out += c;
    if (c == '\n') out += "\\&";
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string roff_paragraphs(std::string_view text) {
  std::string out;
  for (const auto& line : split(text, '\n')) out += line.empty() ? ".PP\n" : roff(line) + '\n';
  return out;
}

std::string roff_options(std::span<const Option> options) {
  std::string out;
  for (const auto& option : options) {
    out += ".TP\n";
    std::string names;
    for (const auto& name : split(option.names, ','))
      names += (names.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
    if (!option.value.empty()) names += " \\fI" + roff(option.value) + "\\fR";
    out += names + '\n' + roff(option.help) + '\n';
    if (!option.environment.empty()) out += "(variable " + roff(option.environment) + ")\n";
  }
  return out;
}

std::string roff_verb(const Verb& verb) {
  std::string out = ".SS \"" + roff(usage(verb)) + "\"\n" + roff_paragraphs(verb.description);
  for (const auto& positional : verb.positionals)
    out += ".TP\n\\fI" + roff(positional.name) + "\\fR\n" + roff(positional.help) + '\n';
  out += roff_options(verb.options);
  for (const auto& example : verb.examples)
    out += ".PP\n" + roff(example.says) + ":\n.RS\n.nf\n" + roff(example.command) + "\n.fi\n.RE\n";
  return out;
}

std::string markdown_cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*') out += '\\';
    out += c;
  }
  return out;
}

std::string markdown_options(std::span<const Option> options) {
  if (options.empty()) return {};
  std::string out = "| option | meaning |\n|---|---|\n";
  for (const auto& option : options) {
    std::string names;
    for (const auto& name : split(option.names, ','))
      names +=
          (names.empty() ? "`" : ", `") + name + (option.value.empty() ? "" : " " + std::string(option.value)) + "`";
    out += "| " + names + " | " + markdown_cell(option.help);
    if (!option.environment.empty()) out += " (variable `" + std::string(option.environment) + "`)";
    out += " |\n";
  }
  return out + '\n';
}

std::string markdown_examples(std::span<const Example> examples) {
  if (examples.empty()) return {};
  std::string out = "```sh\n";
  for (const auto& example : examples)
    out += "# " + std::string(example.says) + '\n' + std::string(example.command) + '\n';
  return out + "```\n\n";
}

std::string markdown_verb(const Verb& verb) {
  std::string out = (is_subverb(verb) ? "### " : "## ") + std::string(verb.name) + "\n\n`" + usage(verb) + "`\n\n" +
                    markdown_cell(verb.description) + "\n\n";
  if (!verb.positionals.empty()) {
    out += "| argument | meaning |\n|---|---|\n";
    for (const auto& positional : verb.positionals)
      out += "| `" + std::string(positional.name) + "` | " + markdown_cell(positional.help) + " |\n";
    out += '\n';
  }
  return out + markdown_options(verb.options) + markdown_examples(verb.examples);
}

}  // namespace

std::string roff_manual() {
  std::string out =
      ".\\\" Made by \"partita man\".\n.TH PARTITA 1 \"\" \"partita " PARTITA_VERSION "\" \"User Commands\"\n";
  out += ".SH NAME\npartita \\- " + roff(kSummary) + "\n.SH SYNOPSIS\n.B partita\n[\\fIOPTIONS\\fR] \\fIVERB\\fR ...\n";
  out += ".SH OPTIONS\nThese stand before or after the verb.\n" + roff_options(global_options()) + ".SH VERBS\n";
  for (const auto& verb : verbs()) out += roff_verb(verb);
  out += ".SH \"EXIT STATUS\"\n";
  for (const auto& status : exit_statuses()) {
    out += ".TP\n\\fB" + std::to_string(status.status) + "\\fR\n" + roff(status.meaning);
    out += status.codes.empty() ? "\n" : " (" + roff(status.codes) + ")\n";
  }
  out += ".SH ENVIRONMENT\n";
  for (const auto& variable : environment_variables())
    out += ".TP\n\\fB" + roff(variable.name) + "\\fR\n" + roff(variable.meaning) + '\n';
  out += ".SH EXAMPLES\n";
  for (const auto& example : global_examples())
    out += ".PP\n" + roff(example.says) + ":\n.RS\n.nf\n" + roff(example.command) + "\n.fi\n.RE\n";
  return out;
}

std::string markdown_manual() {
  std::string out = "# The partita command\n\n<!-- Made by: partita man --markdown -->\n\n" + std::string(kSummary) +
                    "\n\n`partita [OPTIONS] VERB ...`\n\n" + markdown_examples(global_examples()) +
                    "These options stand before or after the verb.\n\n" + markdown_options(global_options());
  for (const auto& verb : verbs()) out += markdown_verb(verb);
  out += "## Exit status\n\n| status | error codes | meaning |\n|---|---|---|\n";
  for (const auto& status : exit_statuses())
    out += "| " + std::to_string(status.status) + " | " + std::string(status.codes) + " | " +
           markdown_cell(status.meaning) + " |\n";
  out += "\n## Environment\n\n| variable | meaning |\n|---|---|\n";
  for (const auto& variable : environment_variables())
    out += "| `" + std::string(variable.name) + "` | " + markdown_cell(variable.meaning) + " |\n";
  return out + "\nThe JSON that `-o json` prints is described in [json.md](json.md).\n";
}

}  // namespace partita::cli
