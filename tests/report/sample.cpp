// Writes a page with every shape of figure, long and hostile names, gaps, intervals and several kinds of numbers. The
// numbers are made up: the page is looked at, not read.
//
// usage: report_sample FILE.html EDGES.html  (the second holds what can go wrong: nothing to draw, zeros, many rows)
#include <fmt/format.h>

#include <cmath>
#include <fstream>

#include "report/report.h"

namespace partita::report {
namespace {

Value between(double value, double part) { return {value, value * (1 - part), value * (1 + part)}; }

Figure empty_figure(Figure::Shape shape, const char* title, const char* x_title, const char* y_title) {
  Figure figure;
  figure.shape = shape;
  figure.title = title;
  figure.x_title = x_title;
  figure.y_title = y_title;
  return figure;
}

Figure single_bars() {
  Figure figure =
      empty_figure(Figure::Shape::bars, "ResNet-50 training per profile", "profile", "throughput (images/s)");
  figure.x = {"7-40c", "4-20c", "3-20c", "2-10c", "1-5c"};
  figure.series = {{"ResNet-50", Kind::simulated, {between(392, .05), between(231, .06), between(188, .07), {}, {}}}};
  figure.note = "2-10c and 1-5c cannot train at this batch: 11.9 GiB of 9.8 GiB.";
  return figure;
}

Figure measured_beside() {
  Figure figure =
      empty_figure(Figure::Shape::grouped_bars, "Measured beside simulated", "layout", "throughput (images/s)");
  figure.x = {"1 × 7g.40gb", "4g.20gb + 3g.20gb", "3g.20gb + 2g.10gb + 2g.10gb", "7 × 1g.5gb"};
  figure.series = {
      {"batch 8", Kind::measured, {between(980, .01), between(1110, .02), between(1190, .02), between(1260, .01)}},
      {"batch 8", Kind::simulated, {between(1010, .06), between(1090, .06), between(1230, .07), between(1290, .08)}},
      {"batch 64", Kind::simulated, {between(2410, .05), between(2380, .05), between(2300, .06), between(2220, .08)}},
      {"vendor's table", Kind::input, {Value{2500, {}, {}}, {}, {}, {}}}};
  return figure;
}

Figure lying_bars() {
  Figure figure = empty_figure(Figure::Shape::grouped_bars, "Latency of the quiet tenant beside six busy ones",
                               "sharing", "p99 latency (ms)");
  figure.log_y = true;
  figure.x = {"MIG, 1g.5gb each",           "MIG-backed vGPU, grid_a100-1-5c",
              "time-slicing, 2 ms quantum", "MPS without share limits",
              "vGPU best effort",           "<script>alert(1)</script> & \"friends\"",
              "bare metal, alone"};
  figure.series = {{"p50",
                    Kind::simulated,
                    {between(8, .1), between(8.6, .1), between(41, .2), between(19, .2), between(45, .3),
                     between(12, .1), between(3, .05)}},
                   {"p99",
                    Kind::simulated,
                    {between(9.4, .1), between(10.1, .1), between(188, .2), between(64, .2), between(240, .3),
                     between(30, .1), between(3.3, .05)}}};
  return figure;
}

Figure knee() {
  Figure figure =
      empty_figure(Figure::Shape::lines, "Throughput against batch size", "batch (images)", "throughput (images/s)");
  figure.x_is_number = true;
  const double most[] = {2480, 1420, 1180, 730, 365};
  const char* names[] = {"7g.40gb", "4g.20gb", "3g.20gb", "2g.10gb", "1g.5gb"};
  for (int power = 0; power <= 8; ++power) figure.x.push_back(std::to_string(1 << power));
  for (int row = 0; row < 5; ++row) {
    Series series{.name = names[row], .kind = Kind::predicted, .values = {}};
    for (int power = 0; power <= 8; ++power) {
      const double batch = 1 << power;
      const bool fits = power < 8 || row < 3;
      series.values.push_back(fits ? std::optional(between(most[row] * batch / (batch + most[row] / 130), .06))
                                   : std::nullopt);
    }
    figure.series.push_back(series);
  }
  return figure;
}

Figure many_points() {
  Figure figure =
      empty_figure(Figure::Shape::lines, "p99 against load", "offered load (requests/s)", "p99 latency (ms)");
  figure.x_is_number = true;
  figure.log_y = true;
  Series queue{.name = "M/M/1", .kind = Kind::predicted, .values = {}},
      run{.name = "time-slicing", .kind = Kind::simulated, .values = {}};
  for (int load = 2; load < 98; load += 2) {
    figure.x.push_back(std::to_string(load * 10));
    queue.values.emplace_back(Value{4.6 / (1 - load / 100.), {}, {}});
    run.values.emplace_back(between(6.1 / (1 - load / 100.) + std::sin(load) * .4, .08));
  }
  figure.series = {queue, run};
  return figure;
}

Figure timeline() {
  Figure figure = empty_figure(Figure::Shape::timeline, "Every tenant's throughput while two profiles change",
                               "time (s)", "throughput (images/s)");
  figure.x_is_number = true;
  for (int t = 0; t <= 60; ++t) figure.x.push_back(std::to_string(t));
  const char* names[] = {"vm-a on 3-20c", "vm-b on 2-10c", "vm-c: 1-5c, then 2-10c", "vm-d: idle, then 1-5c"};
  const double rate[] = {610, 395, 190, 200};
  for (int row = 0; row < 4; ++row) {
    Series series{.name = names[row], .kind = Kind::simulated, .values = {}};
    for (int t = 0; t <= 60; ++t) {
      const bool away = (row == 2 && t >= 22 && t < 26) || (row == 3 && t < 30);
      const double factor = (row == 2 && t >= 26 ? 2.0 : 1.0) * (1 + .02 * std::sin(t * 1.7 + row));
      series.values.push_back(away ? std::nullopt : std::optional(Value{rate[row] * factor, {}, {}}));
    }
    figure.series.push_back(series);
  }
  figure.note = "vm-a and vm-b are not touched: within 2 % of before at every second.";
  return figure;
}

Figure all_looks() {
  Figure figure = empty_figure(Figure::Shape::lines, "Eight series", "tenants", "share (%)");
  figure.x = {"one", "two", "three", "four", "five", "six"};
  for (int row = 0; row < 8; ++row) {
    Series series{
        .name = fmt::format("series {}", row + 1), .kind = row % 2 ? Kind::simulated : Kind::measured, .values = {}};
    for (int at = 0; at < 6; ++at) series.values.emplace_back(Value{100. - 9 * row - 5. * at * (1 + row / 6.), {}, {}});
    figure.series.push_back(series);
  }
  return figure;
}

Figure eight_bars() {
  Figure figure = all_looks();
  figure.shape = Figure::Shape::grouped_bars;
  figure.title = "Eight series as bars";
  figure.x.resize(3);
  return figure;
}

// Layouts with names that do not fit, and a GPU over time.
Drawing layouts() {
  using Fill = Drawing::Look::Fill;
  Drawing out;
  out.title = "How each H100 is cut";
  out.scale = "memory slices";
  out.length = 8;
  out.looks = {{"bert", Fill::colour, 0},
               {"a service with a very long name that fits nowhere", Fill::colour, 1},
               {"pinned", Fill::hatched, 0},
               {"idle", Fill::outline, 0}};
  Drawing::Row many{"1,200 GPUs", "layout 1", 1, {}};
  for (int i = 0; i < 7; ++i)
    many.blocks.push_back(
        {i + 0., i + 1., 0, 1, "1g.10gb", "1g", out.looks[static_cast<std::size_t>(i % 4)].name, "", i % 4});
  out.rows = {many,
              {"1 GPU",
               "layout 2, destroys 2g.20gb@0",
               1,
               {{0, 4, 0, 1, "+ 3g.40gb", "+3g", "bert", "", 0}, {4, 8, 0, 1, "3g.40gb", "3g", "", "", 2}}},
              {"88 GPUs", "layout 3, not used", 1, {}}};
  return out;
}

Drawing gpu_over_time() {
  using Fill = Drawing::Look::Fill;
  Drawing out;
  out.title = "Jobs over time";
  out.kind = Kind::predicted;
  out.scale = "time (minutes)";
  out.length = 43;
  out.step = 10;
  for (int i = 0; i < 8; ++i) out.looks.push_back({fmt::format("job {}", i), Fill::colour, i});
  out.looks.push_back({"being created or destroyed", Fill::solid, 0});
  Drawing::Row row{"GPU 0", "a100-sxm4-40gb", 8, {}};
  for (int i = 0; i < 8; ++i)
    row.blocks.push_back({i * 2. + 1, 20. + i, i, 1, fmt::format("job {}", i), "", "", "", i});
  row.blocks.push_back({0, 0.02, 0, 8, "", "", "", "created", 8});
  row.blocks.push_back({28, 43, 0, 8, "job 7", "", "", "", 7});
  out.rows = {row};
  return out;
}

Table table() {
  Table out{
      .title = "What each profile delivers",
      .columns = {"profile", "memory (GiB)", "throughput (images/s)", "p99 (ms)", "measured (images/s)", "take it for"},
      .kinds = {Kind::input, Kind::input, Kind::simulated, Kind::simulated, Kind::measured, Kind::predicted},
      .rows = {}};
  out.rows = {{"grid_a100-7-40c", "39.6", "392 (372 – 412)", "166", "387", "training at batch 64 and more"},
              {"grid_a100-3-20c", "19.8", "188 (175 – 201)", "341", "–", "training, inference at large batch"},
              {"grid_a100-1-5c", "4.9", "–", "–", "–", "inference only <b>bold?</b>"}};
  return out;
}

Report first() {
  Report report;
  report.title = "Training per profile";
  report.question =
      "How many images per second does one VM train with each vGPU profile, and on which can it not train at all?";
  report.answer = {
      "At batch 64 a VM with 4-20c trains ResNet-50 at 231 images/s (simulated), 59 % of the whole GPU with 57 % of "
      "its "
      "slices.",
      "2-10c and 1-5c cannot train at batch 64: 11.9 GiB needed. The largest batches that fit are 44 and 16."};
  report.sections = {{"What each delivers", {"Three profiles train; two do not fit."}, {single_bars(), table()}},
                     {"Layouts", {}, {measured_beside(), knee()}}};
  report.rests_on = {"MIGPerf, fitted constants: mean error 4.1 %, 90th percentile 9 %",
                     "virtualisation loss 3 %: an input, not a finding"};
  report.command = "partita study training-per-profile --board a100-sxm4-40gb";
  return report;
}

Report second() {
  Report report;
  report.title = "Noisy neighbour";
  report.question = "What does one latency-bound tenant feel of six busy ones?";
  report.answer = {"Under MIG its p99 stays at 9.4 ms (simulated); time-slicing makes it 188 ms."};
  report.sections = {{"Latency", {}, {lying_bars(), many_points()}},
                     {"Reconfigure without downtime", {}, {timeline()}},
                     {"Looks", {}, {all_looks(), eight_bars()}},
                     {"Drawn to scale", {}, {layouts(), gpu_over_time()}}};
  report.warnings = {"The promise for bert is not confirmed."};
  report.rests_on = {"arrivals: Poisson, 40 requests/s: an assumption"};
  report.command = "partita study noisy-neighbour";
  return report;
}

Series constant(const std::string& name, std::size_t count, std::optional<Value> value) {
  return {name, Kind::simulated, std::vector<std::optional<Value>>(count, value)};
}

// Every shape with: nothing at all, no series, no value, one point, zero and below on a logarithmic axis, other
// infinities.
std::vector<std::variant<Figure, Table, Drawing>> edges_of(Figure::Shape shape) {
  std::vector<std::variant<Figure, Table, Drawing>> out;
  Figure figure = empty_figure(shape, "Nothing", "x (s)", "y (ms)");
  out.emplace_back(figure);
  figure.x = {"1"};
  out.emplace_back(figure);
  figure.x_is_number = true;
  figure.series = {constant("", 1, Value{5, {}, 9})};
  out.emplace_back(figure);
  figure.x = {"3", "not a number", "2", "2"};
  figure.series = {constant("none", 4, {}), constant("short", 2, Value{-4, -6, {}}),
                   constant("huge", 9, Value{1e300, {}, {}}),
                   constant("no number", 4, Value{std::nan(""), {}, INFINITY})};
  out.emplace_back(figure);
  figure.log_y = true;
  figure.x = {"1", "2", "4", "8", "16"};
  figure.series = {{"zero and below",
                    Kind::measured,
                    {Value{0, {}, {}}, Value{-1, -2, 3}, Value{2, 0, 3}, Value{1e-9, {}, {}}, {}}}};
  out.emplace_back(figure);
  return out;
}

Figure many_tenants() {
  Figure figure = empty_figure(Figure::Shape::timeline, "56 tenants", "time (s)", "throughput (images/s)");
  figure.x_is_number = true;
  for (int t = 0; t < 300; ++t) figure.x.push_back(fmt::format("{:.1f}", t * .5));
  for (int row = 0; row < 56; ++row)
    figure.series.push_back(constant(fmt::format("user {}", row + 1), 300, Value{10. + row, {}, {}}));
  return figure;
}

Report edges() {
  Report report;
  report.title = "Edges";
  for (const auto shape :
       {Figure::Shape::bars, Figure::Shape::grouped_bars, Figure::Shape::lines, Figure::Shape::timeline})
    report.sections.push_back({"Shape", {}, edges_of(shape)});
  report.sections.push_back({"Many", {}, {many_tenants()}});
  return report;
}

}  // namespace
}  // namespace partita::report

namespace {

bool write(const char* path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return static_cast<bool>(file.flush());
}

}  // namespace

int main(int count, char** arguments) {
  using namespace partita::report;
  if (count != 3) return 2;
  const bool written = write(arguments[1], to_html({first(), second()}, "Sample of every figure (made-up numbers)")) &&
                       write(arguments[2], to_html(edges()));
  return written ? 0 : 1;
}
