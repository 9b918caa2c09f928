// The page of a fleet plan, made from files as the verb makes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <variant>

#include "catalog/catalog.h"
#include "cli/draw/draw_fleet.h"
#include "fleet/exact/solve.h"
#include "fleet/files/demand_file.h"

namespace partita::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

FleetAnswer answer_for(const std::string& fleet, const std::string& demand, bool explained = false) {
  FleetAnswer out;
  auto catalog = catalog::Catalog::open();
  EXPECT_TRUE(fleet::read_fleet("version: v1\nfleet:\n" + fleet, "fleet", *catalog, out.fleet));
  out.demand = fleet::read_demand("version: v1\n" + demand, "demand", out.fleet.fleet).value().demand;
  out.plan = fleet::solve(out.fleet.fleet, out.demand).value();
  out.nodes = fleet::spread(out.fleet, out.plan);
  if (explained) out.explanation = fleet::explain(out.fleet.fleet, out.demand, out.plan, {}).value();
  return out;
}

std::vector<report::Drawing> drawings(const report::Report& page) {
  std::vector<report::Drawing> out;
  for (const auto& section : page.sections)
    for (const auto& part : section.parts)
      if (const auto* drawing = std::get_if<report::Drawing>(&part)) out.push_back(*drawing);
  return out;
}

const std::string kThree = "demand:\n  - {profile: 3g.40gb, count: 9}\n  - {profile: 1g.10gb, count: 21}\n";

TEST(FleetPage, AnswersFirstAndSaysHowToLearnWhy) {
  const auto page = fleet_report(answer_for("  - {board: h100-sxm5-80gb, nodes: 2}\n", kThree), "partita plan");
  ASSERT_GE(page.answer.size(), 3U);
  EXPECT_EQ(page.answer[0], "8 GPUs hold the demand: 8 × h100-sxm5-80gb.");
  EXPECT_EQ(page.answer[1], "No plan needs fewer GPUs: that is proven.");
  EXPECT_THAT(page.sections.back().paragraphs.front(), HasSubstr("The same command with --explain"));
  EXPECT_TRUE(page.warnings.empty());
}

TEST(FleetPage, TellsCostsBoardsAndExplanation) {
  const auto answer = answer_for(
      "  - {board: h100-sxm5-80gb, nodes: 2, price: 2.5}\n  - {board: a100-sxm4-80gb, nodes: 2, price: 1.5}\n", kThree,
      true);
  const auto text = report::to_markdown(fleet_report(answer, "partita plan"));
  EXPECT_THAT(text, HasSubstr("together they cost 12, in the unit of the fleet's prices"));
  EXPECT_THAT(text, HasSubstr("No plan costs less: that is proven."));
  EXPECT_THAT(text, HasSubstr("Next cheaper plan (cost 10.5)"));
  EXPECT_THAT(text, HasSubstr("Next roomier plan (cost 13.5)"));
  EXPECT_THAT(text, HasSubstr("The same demand with one GPU less or more"));
  EXPECT_THAT(text, Not(HasSubstr("--explain")));
}

TEST(FleetPage, BlocksStandWherePlanPutsThem) {
  const auto answer = answer_for("  - {board: h100-sxm5-80gb, nodes: open}\n", kThree);
  const auto drawn = drawings(fleet_report(answer, ""));
  ASSERT_EQ(drawn.size(), 1U);
  std::int64_t blocks = 0;
  for (std::size_t r = 0; r < drawn[0].rows.size(); ++r) {
    double end = 0;
    auto row = drawn[0].rows[r].blocks;
    std::ranges::sort(row, {}, &report::Drawing::Block::from);
    for (const auto& block : row) {
      EXPECT_LE(end, block.from);
      end = block.until;
    }
    EXPECT_LE(end, drawn[0].length);
    blocks += static_cast<std::int64_t>(row.size()) * std::stoll(drawn[0].rows[r].name);
  }
  EXPECT_EQ(blocks, fleet::totals(answer.fleet.fleet, answer.plan).created);
}

TEST(FleetPage, LongListsAreCutAndSayWhatIsLeft) {
  std::string demand = "demand:\n";
  for (int i = 0; i < 300; ++i) demand += "  - {profile: 1g.10gb, count: 1, name: line-" + std::to_string(i) + "}\n";
  const auto page = fleet_report(answer_for("  - {board: h100-sxm5-80gb, nodes: open}\n", demand), "");
  const auto drawn = drawings(page);
  ASSERT_EQ(drawn.size(), 1U);
  EXPECT_LE(drawn[0].rows.size(), 16U);
  EXPECT_LE(drawn[0].looks.size(), 8U);
  EXPECT_THAT(drawn[0].note, HasSubstr("27 more layouts on 27 GPUs are in the JSON output"));
  EXPECT_THAT(page.sections[1].paragraphs.front(), HasSubstr("100 more are in the JSON output"));
  EXPECT_LT(report::to_html(page).size(), 700'000U);
}

TEST(FleetPage, WarnsAsTheTerminalDoes) {
  auto answer = answer_for("  - {board: h100-sxm5-80gb, nodes: 1, name: \"n<1>\"}\n", kThree);
  answer.confirmed = {{"bert", 100, 97, 0.01, 0.2}};
  answer.plan.stopped = true;
  answer.turn_on = {{0, {2, 3}}};
  const auto page = fleet_report(answer, "");
  ASSERT_EQ(page.warnings.size(), 3U);
  EXPECT_EQ(page.warnings[0],
            "The promise for bert is not confirmed: it meets its limit in 97 of 100 simulated runs. Plan with a larger "
            "time_margin.");
  EXPECT_THAT(page.warnings[1], HasSubstr("clock ended the search"));
  EXPECT_EQ(page.warnings[2], "MIG mode is off and must be turned on first: n<1> GPU 2, 3.");
  EXPECT_THAT(report::to_html(page), HasSubstr("n&lt;1&gt; GPU 2, 3"));
}

}  // namespace
}  // namespace partita::cli
