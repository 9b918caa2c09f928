#include <fmt/format.h>

#include "report/assets.h"
#include "report/html_parts.h"
#include "report/json_text.h"

namespace partita::report {
namespace {

// JSON inside a <script>: no "<" may stand there, or a name could end the element.
std::string inline_json(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  }
  return out;
}

std::string paragraphs(const std::vector<std::string>& texts) {
  std::string out;
  for (const std::string& text : texts) out += fmt::format("<p>{}</p>\n", escaped(text));
  return out;
}

std::string section_html(const Section& section, Place place, int level) {
  std::string out =
      fmt::format("<section>\n<h{0}>{1}</h{0}>\n{2}", level, escaped(section.title), paragraphs(section.paragraphs));
  for (place.part = 0; place.part < section.parts.size(); ++place.part)
    out += std::visit([&](const auto& part) { return part_html(part, place); }, section.parts[place.part]);
  return out + "</section>\n";
}

std::string report_html(const Report& report, std::size_t number, int level) {
  std::string out =
      fmt::format("<article id=\"report-{0}\">\n<h{1}>{2}</h{1}>\n", number + 1, level, escaped(report.title));
  if (!report.question.empty()) out += fmt::format("<p class=\"question\">{}</p>\n", escaped(report.question));
  if (!report.answer.empty())
    out +=
        fmt::format("<div class=\"answer\">\n<div class=\"label\">Answer</div>\n{}</div>\n", paragraphs(report.answer));
  if (!report.warnings.empty())
    out += fmt::format("<div class=\"warnings\">\n<div class=\"label\">Mind</div>\n{}</div>\n",
                       paragraphs(report.warnings));
  for (std::size_t section = 0; section < report.sections.size(); ++section)
    out += section_html(report.sections[section], {.report = number, .section = section}, level + 1);
  if (!report.rests_on.empty()) {
    out += fmt::format("<section class=\"rests\">\n<h{0}>What this rests on</h{0}>\n<ul>\n", level + 1);
    for (const std::string& line : report.rests_on) out += fmt::format("<li>{}</li>\n", escaped(line));
    out += "</ul>\n</section>\n";
  }
  if (!report.command.empty())
    out += fmt::format("<footer>Made by <code>{}</code></footer>\n", escaped(report.command));
  return out + "</article>\n";
}

std::string contents_html(const std::vector<Report>& reports) {
  std::string out = "<nav aria-label=\"Contents\">\n<ol>\n";
  for (std::size_t number = 0; number < reports.size(); ++number) {
    out += fmt::format("<li><a href=\"#report-{}\">{}</a>", number + 1, escaped(reports[number].title));
    if (!reports[number].answer.empty()) out += fmt::format("<span>{}</span>", escaped(reports[number].answer.front()));
    out += "</li>\n";
  }
  return out + "</ol>\n</nav>\n";
}

// The policy lets the page reach nothing outside itself, whatever stands in it.
std::string page(const std::vector<Report>& reports, std::string_view title, std::string_view body) {
  std::string out = fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"generator\" "
      "content=\"Partita\">\n"
      "<title>{}</title>\n<style>",
      escaped(title));
  out += page_style();
  out += "</style>\n</head>\n<body>\n<main>\n";
  out += body;
  out +=
      "<p class=\"no-print\"><button id=\"partita-save\" type=\"button\" hidden>Save the data as JSON</button></p>\n"
      "<noscript><p class=\"note\">The figures are drawn by a script inside this page; without it, their numbers are "
      "in "
      "the tables.</p></noscript>\n</main>\n<script type=\"application/json\" id=\"partita-data\">";
  out += inline_json(reports_json(reports));
  out += "</script>\n<script>";
  out += page_script();
  out += "</script>\n</body>\n</html>\n";
  return out;
}

}  // namespace

std::string to_html(const Report& report) { return page({report}, report.title, report_html(report, 0, 1)); }

std::string to_html(const std::vector<Report>& reports, const std::string& title) {
  std::string body = fmt::format("<h1>{}</h1>\n", escaped(title));
  if (reports.size() > 1) body += contents_html(reports);
  for (std::size_t number = 0; number < reports.size(); ++number) body += report_html(reports[number], number, 2);
  return page(reports, title, body);
}

}  // namespace partita::report
