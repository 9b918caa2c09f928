#include "cli/draw/draw_prediction.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace partita::cli {
namespace {

predict::TableRow row(std::string name, int batch, double per_s, double needs_mib, double has_mib) {
  predict::TableRow out;
  out.name = std::move(name);
  out.batch = batch;
  auto& found = out.prediction;
  found.throughput = {per_s, per_s * 0.8, per_s * 1.25};
  const double ms = batch * 1e3 / per_s;
  found.step_ms = {ms, ms * 0.8, ms * 1.25};
  found.memory_mib = {needs_mib, needs_mib, needs_mib};
  found.capacity_mib = has_mib;
  found.fit = needs_mib > 1.1 * has_mib   ? predict::Fit::does_not_fit
              : needs_mib > 0.9 * has_mib ? predict::Fit::uncertain
                                          : predict::Fit::fits;
  return out;
}

api::PredictAnswer answer_with(const std::vector<int>& batches) {
  static const auto board = [] {
    auto made = std::make_shared<catalog::Board>();
    made->id = "some-board";
    return made;
  }();
  api::PredictAnswer out;
  out.title = "Some network";
  out.request.query.batches = batches;
  out.request.batch_range = batches.size() > 1;
  api::BoardPrediction each;
  each.board = board;
  each.table.board = board.get();
  each.table.unit = "images";
  each.table.batches = batches;
  for (const auto& [name, per_s, has] : {std::tuple{"1g.5gb", 50.0, 4864.0}, {"7g.40gb", 400.0, 40192.0}})
    for (const int batch : batches) each.table.rows.push_back(row(name, batch, per_s * batch, 1024.0 * batch, has));
  if (out.request.batch_range) each.knees = predict::knees(each.table);
  out.boards.push_back(std::move(each));
  return out;
}

TEST(DrawPrediction, OneBatch) {
  EXPECT_EQ(draw_prediction({}, answer_with({5})),
            "Some network  inference, batch 5, tf32\n"
            "\n"
            "some-board  predicted, not measured\n"
            "  profile   GiB of GiB  fits       images/s       90 %  ms/step  bound by\n"
            "  1g.5gb    5.0 of 4.8  uncertain       250    200-312     20.0  compute\n"
            "  7g.40gb  5.0 of 39.2  yes            2000  1600-2500     2.50  compute\n"
            "\n"
            "  90 %: interval of throughput   uncertain: memory within 10 % of what there is\n");
}

TEST(DrawPrediction, WhatDoesNotFitHasNoFigures) {
  const auto text = draw_prediction({}, answer_with({16}));
  EXPECT_NE(text.find("  1g.5gb    16.0 of 4.8  no           -          -        -  -\n"), std::string::npos) << text;
}

TEST(DrawPrediction, ARangeOfBatchesMarksTheKnees) {
  const auto text = draw_prediction({}, answer_with({1, 4, 16}));
  EXPECT_NE(
      text.find(
          "  batch  1g.5gb  7g.40gb\n      1   50.0      400 \n      4    200*    1600 \n     16      -     6400*\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("  1g.5gb         4       200"), std::string::npos) << text;
  EXPECT_NE(text.find("16 or more\n"), std::string::npos) << text;
}

TEST(DrawPrediction, ExtrapolationIsSaidInTheHeading) {
  auto answer = answer_with({1});
  answer.boards[0].table.rows[1].prediction.extrapolated = true;
  EXPECT_NE(draw_prediction({}, answer).find("some-board  extrapolated, not measured\n"), std::string::npos);
}

TEST(DrawPrediction, NearestIsTheRowThatLacksLeast) {
  const auto answer = answer_with({64});
  EXPECT_EQ(nearest_fit(answer.boards[0]), "some-board: 7g.40gb comes nearest: 64.0 of 39.2 GiB at batch 64");
  auto fitting = answer_with({1});
  fitting.request.need.throughput = 1000;
  EXPECT_EQ(nearest_row(fitting.request, fitting.boards[0]),
            "some-board: 7g.40gb comes nearest at batch 1: 400 images/s, 2.50 ms a step");
}

TEST(DrawPrediction, NeedsInWords) {
  auto answer = answer_with({1});
  answer.request.need = {250, 20, 0.5};
  EXPECT_EQ(need_in_words(answer), "250 images/s and a step of at most 20 ms and 50 % of the largest profile");
}

}  // namespace
}  // namespace partita::cli
