// assert and doctor.
#include "cli/draw/draw.h"
#include "cli/draw/table.h"

namespace partita::cli {

std::string draw_differences(const Look& look, const api::AssertAnswer& answer) {
  std::string out = draw_warnings(look, answer.warnings);
  for (const auto& difference : answer.differences)
    out += paint(look, Tone::bad, look.unicode ? "✗" : "x") + " " + printable(difference.what) + '\n';
  return out + (answer.differences.empty() ? "the node is as asked\n" : "the node is not as asked\n");
}

std::string draw_findings(const Look& look, const api::DoctorAnswer& answer) {
  using Level = api::Finding::Level;
  struct Mark {
    Tone tone;
    const char *unicode, *ascii;
  };
  const auto mark = [](Level level) -> Mark {
    if (level == Level::ok) return {Tone::good, "✓", "ok"};
    if (level == Level::warning) return {Tone::warning, "!", "! "};
    return {Tone::bad, "✗", "x "};
  };
  const int indent = look.unicode ? 2 : 3;
  const auto laid_out = [&](const std::string& text, int under, int first) {
    return look.terminal ? wrapped(printable(text), look.width, under, first) : printable(text);
  };
  std::string out;
  int problems = 0, warnings = 0;
  for (const auto& finding : answer.findings) {
    const auto shown = mark(finding.level);
    problems += finding.level == Level::problem ? 1 : 0;
    warnings += finding.level == Level::warning ? 1 : 0;
    out += paint(look, shown.tone, look.unicode ? shown.unicode : shown.ascii) + " " +
           paint(look, Tone::strong, printable(finding.what)) + ": " +
           laid_out(finding.found, indent, indent + width_of(finding.what) + 2) + '\n';
    if (finding.advice.empty()) continue;
    const int under = indent + (look.unicode ? 2 : 3);
    out += std::string(static_cast<std::size_t>(indent), ' ') + (look.unicode ? "→ " : "-> ") +
           laid_out(finding.advice, under, under) + '\n';
  }
  const auto count = [](int n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); };
  return out + count(problems, "problem") + ", " + count(warnings, "warning") + '\n';
}

}  // namespace partita::cli
