#include "report/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace partita::report {
namespace {

using testing::HasSubstr;
using testing::Not;

// A page is too long to be shown when it lacks something.
testing::AssertionResult holds(const std::string& page, const std::string& part) {
  if (page.contains(part)) return testing::AssertionSuccess() << "holds " << part;
  return testing::AssertionFailure() << "lacks " << part;
}

Figure throughput() {
  Figure figure;
  figure.title = "Throughput per profile";
  figure.x_title = "profile";
  figure.y_title = "throughput (images/s)";
  figure.x = {"7g.40gb", "1g.5gb"};
  figure.series = {{"ResNet-50", Kind::simulated, {Value{12345.6, 11000, 13000}, Value{0.98765, {}, {}}}},
                   {"ResNet-50", Kind::measured, {Value{12500, {}, {}}, {}}}};
  figure.note = "one tenant";
  return figure;
}

Table memory() {
  Table table;
  table.title = "Memory";
  table.columns = {"profile", "size (GiB)", "needed (GiB)", "fits"};
  table.kinds = {Kind::input, Kind::input, Kind::predicted, Kind::predicted};
  table.rows = {{"7g.40gb", "39.6", "11.9 (11 – 13)", "yes"}, {"1g.5gb", "4.9", "–", "no"}};
  return table;
}

Report example() {
  Report report;
  report.title = "Training";
  report.question = "Which profile trains?";
  report.answer = {"7g.40gb does.", "1g.5gb does not."};
  report.sections = {{"Figures", {"Two profiles."}, {throughput(), memory()}}};
  report.rests_on = {"MIGPerf: mean error 4 %"};
  report.command = "partita study training";
  return report;
}

Report hostile() {
  const std::string name = "</script><script>alert(1)</script><img src=x onerror='alert(\"2\")'>|*_x_*\x01\xff";
  Report report = example();
  report.title = report.question = report.command = name;
  report.answer = report.rests_on = {name};
  auto& section = report.sections[0];
  section.title = section.paragraphs[0] = name;
  auto& figure = std::get<Figure>(section.parts[0]);
  figure.title = figure.x_title = figure.y_title = figure.note = figure.x[0] = figure.series[0].name = name;
  auto& table = std::get<Table>(section.parts[1]);
  table.title = table.columns[0] = table.rows[0][0] = name;
  return report;
}

TEST(Report, markdown) {
  EXPECT_EQ(to_markdown(example()), R"(# Training

**Question:** Which profile trains?

**Answer:** 7g.40gb does.

1g.5gb does not.

## Figures

Two profiles.

**Throughput per profile (simulated, measured)**  
throughput (images/s)

| profile |    ResNet-50 (simulated) | ResNet-50 (measured) |
|---------|-------------------------:|---------------------:|
| 7g.40gb | 12,346 (11,000 – 13,000) |               12,500 |
| 1g.5gb  |                   0.9877 |                    – |

one tenant

**Memory**

| profile | size (GiB) (input) | needed (GiB) (predicted) | fits (predicted) |
|---------|-------------------:|-------------------------:|------------------|
| 7g.40gb |               39.6 |           11.9 (11 – 13) | yes              |
| 1g.5gb  |                4.9 |                        – | no               |

## Rests on

- MIGPerf: mean error 4 %

Made by:

    partita study training
)");
}

constexpr const char* kExampleJson = R"JSON({
  "title": "Training", "question": "Which profile trains?", "answer": ["7g.40gb does.", "1g.5gb does not."],
  "warnings": [],
  "sections": [{
    "title": "Figures", "paragraphs": ["Two profiles."],
    "parts": [
      {"type": "figure", "shape": "bars", "title": "Throughput per profile", "x_title": "profile",
       "y_title": "throughput (images/s)", "x_is_number": false, "log_y": false, "x": ["7g.40gb", "1g.5gb"],
       "series": [
         {"name": "ResNet-50", "kind": "simulated",
          "values": [{"value": 12345.6, "low": 11000.0, "high": 13000.0}, {"value": 0.98765}]},
         {"name": "ResNet-50", "kind": "measured", "values": [{"value": 12500.0}, null]}],
       "note": "one tenant"},
      {"type": "table", "title": "Memory",
       "columns": [{"title": "profile", "kind": "input"}, {"title": "size (GiB)", "kind": "input"},
                   {"title": "needed (GiB)", "kind": "predicted"}, {"title": "fits", "kind": "predicted"}],
       "rows": [["7g.40gb", "39.6", "11.9 (11 – 13)", "yes"], ["1g.5gb", "4.9", "–", "no"]]}]}],
  "rests_on": ["MIGPerf: mean error 4 %"], "command": "partita study training"
})JSON";

TEST(Report, json) {
  using Json = nlohmann::ordered_json;
  EXPECT_EQ(to_json(example()), Json::parse(kExampleJson).dump(2) + "\n");
}

// The page's data, as its script reads it.
nlohmann::json data_of(const std::string& html) {
  const std::string mark = "id=\"partita-data\">";
  const auto begin = html.find(mark) + mark.size();
  return nlohmann::json::parse(html.substr(begin, html.find("</script>", begin) - begin));
}

TEST(Report, page_holds_words_numbers_and_data) {
  const std::string html = to_html(example());
  for (const char* words :
       {"<title>Training</title>", "<h1>Training</h1>", "Which profile trains?", "1g.5gb does not.",
        "Throughput per profile<span class=\"kind\">simulated</span><span class=\"kind\">measured</span>",
        "ResNet-50<span class=\"kind\">simulated</span>", "12,346 (11,000 – 13,000)",
        "needed (GiB)<span class=\"kind\">predicted</span>", "size (GiB)<span class=\"kind\">input</span>",
        "<details><summary>The numbers</summary>", "MIGPerf: mean error 4 %", "<code>partita study training</code>"})
    EXPECT_TRUE(holds(html, words));
  EXPECT_TRUE(holds(html, "profile</th>")) << "a column of names has no origin";
  EXPECT_EQ(data_of(html), nlohmann::json::array({nlohmann::json::parse(to_json(example()))}));
}

TEST(Report, page_stands_alone) {
  const std::string html = to_html(example());
  EXPECT_TRUE(holds(html, "default-src 'none'"));
  for (const char* outside : {" src=", "<link", "@import", "url(http"}) EXPECT_FALSE(holds(html, outside));
  EXPECT_TRUE(holds(html, "dataset.figures")) << "the script is in the page";
  EXPECT_TRUE(holds(html, "Observable, Inc.")) << "and the licences of what is bundled in it";
  EXPECT_LT(html.size(), 450'000U);
}

TEST(Report, hostile_names_stay_text) {
  const std::string benign = to_html(example());
  const std::string html = to_html(hostile());
  const auto count = [](const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  };
  for (const char* tag : {"<script", "</script", "<img"}) EXPECT_EQ(count(html, tag), count(benign, tag)) << tag;
  EXPECT_TRUE(holds(html, "&lt;/script&gt;&lt;script&gt;alert(1)"));
  EXPECT_TRUE(holds(html, "aria-label=\"the numbers of: &lt;/script&gt;"));
  EXPECT_THAT(data_of(html)[0]["sections"][0]["parts"][0]["x"][0].get<std::string>(),
              HasSubstr("<img src=x onerror='"));

  const std::string markdown = to_markdown(hostile());
  EXPECT_THAT(markdown, HasSubstr("\\</script>\\<script>"));
  EXPECT_THAT(markdown, HasSubstr("\\|\\*\\_x\\_\\*"));
}

TEST(Report, several_on_one_page_have_contents) {
  auto second = example();
  second.title = "Inference";
  const std::string html = to_html({example(), second}, "Studies");
  EXPECT_TRUE(holds(html, "<h1>Studies</h1>"));
  EXPECT_TRUE(holds(html, "<a href=\"#report-2\">Inference</a><span>7g.40gb does.</span>"));
  EXPECT_TRUE(holds(html, "<article id=\"report-2\">\n<h2>Inference</h2>"));
  EXPECT_TRUE(holds(html, "data-report=\"1\" data-section=\"0\" data-part=\"0\""));
  EXPECT_EQ(data_of(html).size(), 2U);
}

TEST(Report, numbers_of_unknown_origin_say_so) {
  Report report = example();
  std::get<Table>(report.sections[0].parts[1]).kinds = {Kind::input};
  EXPECT_TRUE(holds(to_html(report), "size (GiB)<span class=\"kind\">origin not stated</span>"));
  EXPECT_THAT(to_markdown(report), HasSubstr("size (GiB) (origin not stated)"));
}

TEST(Report, ragged_rows_and_empty_parts_are_drawn) {
  Report report = example();
  auto& parts = report.sections[0].parts;
  std::get<Figure>(parts[0]).series[0].values.resize(1);
  std::get<Table>(parts[1]).rows.push_back({"only a name"});
  parts.emplace_back(Figure{});
  parts.emplace_back(Table{});
  EXPECT_TRUE(holds(to_html(report), "only a name"));
  EXPECT_THAT(to_markdown(report), HasSubstr("| only a name |"));
  EXPECT_NE(to_json(report), "");
}

TEST(Report, long_figures_are_thinned_in_the_table_only) {
  Report report;
  Figure figure;
  figure.x_is_number = true;
  figure.series = {{"p99", Kind::simulated, {}}};
  for (int at = 0; at < 1000; ++at) {
    figure.x.push_back(std::to_string(at));
    figure.series[0].values.emplace_back(Value{at * 1.0, {}, {}});
  }
  figure.y_title = "latency (ms)";
  report.sections = {{"", {}, {figure}}};
  EXPECT_THAT(to_markdown(report), HasSubstr("latency (ms); one in 5 of 1000 points"));
  EXPECT_THAT(to_markdown(report), HasSubstr("|   995 |"));
  EXPECT_THAT(to_markdown(report), Not(HasSubstr("|   996 |")));
  EXPECT_EQ(data_of(to_html(report))[0]["sections"][0]["parts"][0]["x"].size(), 1000U);
}

Drawing layouts() {
  Drawing out;
  out.title = "How each <board> is cut";
  out.scale = "memory slices";
  out.length = 8;
  out.looks = {{"bert & \"co\"", Drawing::Look::Fill::colour, 2}, {"pinned", Drawing::Look::Fill::hatched, 0}};
  out.rows = {{"12 GPUs", "layout 1", 1, {{0, 2, 0, 1, "2g.10gb", "2g", "<script>alert(1)</script>", "2g.10gb@0", 0}}},
              {"1 GPU", "", 8, {{4, 8, 4, 4, "3g.20gb", "", "", "", 1}}},
              {"3 GPUs", "layout 2, not used", 1, {}}};
  out.note = "and more";
  return out;
}

TEST(Drawing, BlocksStandToScaleAndNamesAreNeverMarkup) {
  Report report;
  report.sections = {{"GPUs", {}, {layouts()}}};
  const auto page = to_html(report);
  EXPECT_TRUE(holds(page, "left:0%;width:25%;top:0%;height:100%\" title=\"2g.10gb@0\""));
  EXPECT_TRUE(holds(page, "<div class=\"block hatched\" style=\"left:50%;width:50%;top:50%;height:50%\""));
  EXPECT_TRUE(holds(page, "How each &lt;board&gt; is cut<span class=\"kind\">planned</span>"));
  EXPECT_TRUE(holds(page, "bert &amp; &quot;co&quot;"));
  EXPECT_TRUE(holds(page, "&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_FALSE(page.contains("<script>alert"));
}

TEST(Drawing, IsATableForThoseWhoReadAndDataForPrograms) {
  Report report;
  report.warnings = {"mind *this*"};
  report.sections = {{"GPUs", {}, {layouts()}}};
  const auto markdown = to_markdown(report);
  EXPECT_THAT(markdown, HasSubstr("**Mind:** mind \\*this\\*"));
  EXPECT_THAT(markdown, HasSubstr("| 12 GPUs, layout 1 "));
  EXPECT_THAT(markdown, HasSubstr("| 3 GPUs, layout 2, not used |"));
  const auto part = data_of(to_html(report))[0]["sections"][0]["parts"][0];
  EXPECT_EQ(part["type"], "drawing");
  EXPECT_EQ(part["rows"][1]["blocks"][0]["height"], 4);
  EXPECT_EQ(part["looks"][1]["fill"], "hatched");
}

TEST(Drawing, LooksThatAreMissingAndNoLengthAreDrawnAllTheSame) {
  auto drawing = layouts();
  drawing.looks.clear();
  drawing.length = drawing.step = 0;
  Report report;
  report.sections = {{"GPUs", {}, {drawing}}};
  EXPECT_TRUE(holds(to_html(report), "block outline"));
}

TEST(Figure, TheAxisIsLogarithmicOnlyWhereSmallBarsWouldVanish) {
  Figure f;
  f.y_title = "p99 latency (ms)";
  f.series = {{"a", Kind::simulated, {Value{2, {}, {}}, std::nullopt}}, {"b", Kind::simulated, {Value{59, {}, {}}}}};
  logarithmic_if_wide(f);
  EXPECT_FALSE(f.log_y);
  EXPECT_EQ(f.y_title, "p99 latency (ms)");
  f.series[1].values[0]->value = 61;
  logarithmic_if_wide(f);
  EXPECT_TRUE(f.log_y);
  EXPECT_EQ(f.y_title, "p99 latency (ms), logarithmic scale");
}

}  // namespace
}  // namespace partita::report
