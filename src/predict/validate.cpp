#include "predict/validate.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "predict/calibration.h"
#include "predict/naive.h"
#include "predict/own_points.h"
#include "predict/statistics.h"

namespace partita::predict {
namespace {

// Errors on their way to a table.
struct Sample {
  std::vector<double> errors;
  int inside = 0, with_interval = 0;

  void add(double predicted, double measured) { errors.push_back(std::abs(predicted / measured - 1)); }
  void add(const Estimate& predicted, double measured) {
    add(predicted.median, measured);
    ++with_interval;
    if (measured >= predicted.low && measured <= predicted.high) ++inside;
  }
  Errors table(std::string name) const {
    Errors out{std::move(name),       static_cast<int>(errors.size()), mean(errors),
               quantile(errors, 0.5), quantile(errors, 0.9),           std::nullopt};
    if (with_interval > 0) out.inside = static_cast<double>(inside) / with_interval;
    return out;
  }
};

using Samples = std::map<std::string, Sample>;

void add_tables(const Samples& samples, std::vector<Errors>& out) {
  for (const auto& [name, sample] : samples) out.push_back(sample.table(name));
}

std::string what(const Measurement& m) {
  std::string text =
      fmt::format("{}{} on {}", m.workload, m.settings.mode == Mode::training ? " training" : "", m.profile);
  if (m.settings.sequence) text += fmt::format(", {} tokens", *m.settings.sequence);
  text += fmt::format(", batch {}", m.settings.batch);
  if (m.settings.processes > 1) text += fmt::format(", {} processes", m.settings.processes);
  return text;
}

void skip(std::vector<Skipped>& skipped, const std::string& reason, std::optional<int> line) {
  constexpr std::size_t kLines = 5;
  auto it = std::ranges::find(skipped, reason, &Skipped::reason);
  if (it == skipped.end()) it = skipped.insert(it, {reason, 0, {}});
  ++it->rows;
  if (line && it->lines.size() < kLines) it->lines.push_back(*line);
}

class Validation {
 public:
  Validation(const Constants& constants, std::vector<Case> cases, std::vector<Prediction> predicted)
      : constants_(constants), cases_(std::move(cases)), predicted_(std::move(predicted)) {
    for (const Case& c : cases_) devices_.push_back(*device_of(constants_, c.partition));
  }

  Result<void> run(SetReport& report) {
    report_ = &report;
    count();
    zero_shot();
    TRY_VOID(calibrated());
    ratios();
    TRY_VOID(two_points());
    memory();
    return {};
  }

 private:
  bool counts(std::size_t i) const {
    const Case& c = cases_[i];
    return c.workload && c.measured.left_out.empty() && c.measured.throughput;
  }
  // One process alone: what the main tables hold.
  bool main(std::size_t i) const { return counts(i) && alone(cases_[i].measured); }
  double measured(std::size_t i) const { return cases_[i].measured.throughput.value_or(1); }
  double step_ms(std::size_t i) const { return cases_[i].measured.step_ms.value_or(1); }

  void count() {
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const Case& c = cases_[i];
      if (counts(i)) {
        ++report_->rows;
      } else if (!c.measured.left_out.empty()) {
        skip(report_->skipped, c.measured.left_out, std::nullopt);
      } else if (!c.workload) {
        skip(report_->skipped, c.no_workload, c.measured.line);
      }
    }
  }

  WorstRow row(std::size_t i) const {
    double predicted = predicted_[i].throughput.median;
    return {cases_[i].measured.line,
            what(cases_[i].measured),
            measured(i),
            predicted,
            std::abs(predicted / measured(i) - 1),
            cases_[i].measured.left_out};
  }

  void zero_shot() {
    Sample all, processes, neighbours;
    Samples workloads, profiles;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const Measurement& m = cases_[i].measured;
      if (!counts(i)) {
        if (cases_[i].workload && m.throughput && report_->left_out.size() < 20 && m.settings.processes == 1) {
          report_->left_out.push_back(row(i));
        }
        continue;
      }
      if (!main(i)) {
        (m.settings.processes > 1 ? processes : neighbours).add(predicted_[i].throughput, measured(i));
        continue;
      }
      all.add(predicted_[i].throughput, measured(i));
      workloads[m.workload + (m.settings.mode == Mode::training ? " training" : "")].add(predicted_[i].throughput,
                                                                                         measured(i));
      profiles[m.profile].add(predicted_[i].throughput, measured(i));
      report_->worst.push_back(row(i));
    }
    if (!all.errors.empty()) report_->time.push_back(all.table("zero-shot"));
    if (!processes.errors.empty()) report_->time.push_back(processes.table("several processes"));
    if (!neighbours.errors.empty()) report_->time.push_back(neighbours.table("busy neighbours"));
    add_tables(workloads, report_->by_workload);
    add_tables(profiles, report_->by_profile);
    std::ranges::sort(report_->worst, std::greater{}, &WorstRow::error);
    if (report_->worst.size() > 10) report_->worst.resize(10);
  }

  std::map<std::size_t, std::vector<std::size_t>> groups() const {
    std::map<std::size_t, std::vector<std::size_t>> out;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (main(i)) out[cases_[i].group].push_back(i);
    }
    return out;
  }

  Result<void> calibrated() {
    for (auto [wanted, name] : {std::pair<std::size_t, const char*>{1, "one point"}, {3, "three points"}}) {
      Sample sample;
      for (const auto& [group, rows] : groups()) {
        std::vector<std::size_t> chosen = own_points(cases_, devices_, rows, wanted);
        if (chosen.size() >= rows.size()) continue;
        const Case& first = cases_[rows.front()];
        Predictor predictor = TRY(Predictor::make(constants_, *first.workload, first.measured.settings,
                                                  *first.partition.board, constants_.host(first.measured.host)));
        std::vector<Point> points;
        for (std::size_t i : chosen) points.push_back(point_of(cases_[i]));
        Calibration calibration = TRY(calibrate(predictor, points));
        for (std::size_t i : rows) {
          if (std::ranges::find(chosen, i) != chosen.end()) continue;
          Prediction p = TRY(predictor.predict(cases_[i].partition, cases_[i].measured.settings.batch, calibration));
          sample.add(p.throughput, measured(i));
        }
      }
      if (!sample.errors.empty()) report_->time.push_back(sample.table(name));
    }
    return {};
  }

  // Rows whose ratio may be taken: same run, workload and settings, and the same batch where the set says so.
  std::string ratio_key(std::size_t i) const {
    const Measurement& m = cases_[i].measured;
    if (m.other_batch_ratio) return fmt::format("{}|{}|{}", m.run, m.board, m.workload);
    return fmt::format("{}|{}|{}", m.run, cases_[i].group, m.settings.batch);
  }

  void ratios() {
    std::map<std::string, std::vector<std::size_t>> sets;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (main(i)) sets[ratio_key(i)].push_back(i);
    }
    Sample model;
    std::array<Sample, 3> naive;
    Samples profiles;
    std::vector<double> predicted_43, measured_43;
    for (const auto& [key, rows] : sets) {
      std::size_t top = *std::ranges::max_element(rows, {}, [&](std::size_t i) { return devices_[i].multiprocessors; });
      std::vector<double> reference, reference_predicted;
      for (std::size_t i : rows) {
        if (devices_[i].multiprocessors != devices_[top].multiprocessors) continue;
        reference.push_back(measured(i));
        reference_predicted.push_back(predicted_[i].throughput.median);
      }
      for (std::size_t i : rows) {
        if (devices_[i].multiprocessors == devices_[top].multiprocessors) continue;
        double truth = measured(i) / quantile(reference, 0.5);
        double found = predicted_[i].throughput.median / quantile(reference_predicted, 0.5);
        model.add(found, truth);
        profiles[cases_[i].measured.profile].add(found, truth);
        for (std::size_t r = 0; r < naive.size(); ++r) {
          naive[r].add(1 / naive_rules()[r].time_factor(devices_[top], devices_[i]), truth);
        }
      }
      four_over_three(rows, predicted_43, measured_43);
    }
    if (model.errors.empty()) return;
    report_->ratio.push_back(model.table("model"));
    for (std::size_t r = 0; r < naive.size(); ++r) {
      report_->ratio.push_back(naive[r].table(std::string(naive_rules()[r].name)));
    }
    add_tables(profiles, report_->ratio_by_profile);
    if (!measured_43.empty()) {
      report_->four_over_three = {quantile(predicted_43, 0.5), quantile(measured_43, 0.5)};
    }
  }

  void four_over_three(const std::vector<std::size_t>& rows, std::vector<double>& predicted,
                       std::vector<double>& truth) const {
    auto slices = [&](std::size_t i) {
      const Partition& p = cases_[i].partition;
      return p.profile ? p.board->profiles[static_cast<std::size_t>(*p.profile)].compute_slices : 0;
    };
    for (std::size_t four : rows) {
      for (std::size_t three : rows) {
        if (slices(four) != 4 || slices(three) != 3) continue;
        truth.push_back(measured(four) / measured(three));
        predicted.push_back(predicted_[four].throughput.median / predicted_[three].throughput.median);
      }
    }
  }

  Result<void> two_points() {
    std::map<std::string, std::vector<std::size_t>> sets;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      if (alone(cases_[i].measured) && !cases_[i].measured.other_batch_ratio) sets[ratio_key(i)].push_back(i);
    }
    Sample sample;
    for (const auto& [key, rows] : sets) {
      const Sizes sizes = sizes_of(devices_, rows);
      const TwoPoints known{point_of(cases_[sizes.largest]), point_of(cases_[sizes.smallest])};
      for (std::size_t i : sizes.between) {
        auto found = from_two_points(constants_, known, cases_[i].partition);
        if (!found) continue;  // the two contradict each other
        Estimate ms = *found;
        double samples = step_ms(i) * measured(i);
        sample.add(Estimate{samples / ms.median, samples / ms.high, samples / ms.low}, measured(i));
      }
    }
    if (!sample.errors.empty()) report_->two_points.push_back(sample.table("no architecture, two points"));
    return {};
  }

  void memory() {
    Sample all;
    Samples workloads;
    for (std::size_t i = 0; i < cases_.size(); ++i) {
      const Measurement& m = cases_[i].measured;
      if (!cases_[i].workload || !m.left_out.empty() || (!m.memory_mib && !m.out_of_memory)) continue;
      const Prediction& p = predicted_[i];
      if (m.memory_mib && *m.memory_mib > 0) {
        all.add(p.memory_mib, *m.memory_mib);
        workloads[m.workload + (m.settings.mode == Mode::training ? " training" : "")].add(p.memory_mib, *m.memory_mib);
      }
      if (p.fit == Fit::uncertain) {
        ++report_->fit_uncertain;
      } else {
        ++report_->fit_answers;
        if ((p.fit == Fit::does_not_fit) == m.out_of_memory) ++report_->fit_right;
      }
    }
    if (all.errors.empty()) return;
    report_->memory.push_back(all.table("all"));
    add_tables(workloads, report_->memory);
  }

  const Constants& constants_;
  std::vector<Case> cases_;
  std::vector<Prediction> predicted_;
  std::vector<Device> devices_;
  SetReport* report_ = nullptr;
};

std::unexpected<Error> none_usable(const DataSet& set, const Resolved& resolved) {
  if (resolved.unusable.empty()) return fail(ErrorCode::invalid, set.name + ": no rows");
  const Unusable& first = resolved.unusable.front();
  Error error = in_context(fmt::format("{}, line {}", set.name, first.line), first.error);
  if (resolved.unusable.size() > 1) {
    error.details.push_back(fmt::format("none of its {} rows can be used", resolved.unusable.size()));
  }
  return std::unexpected(std::move(error));
}

void name_unknown_hosts(const Constants& constants, const std::vector<Case>& cases, std::vector<std::string>& assumed) {
  for (const Case& one : cases) {
    const std::string& host = one.measured.host;
    if (host.empty() || constants.host(host)) continue;
    std::string said = fmt::format("host {} is none that was measured: the reference", quote(host));
    if (std::ranges::find(assumed, said) == assumed.end()) assumed.push_back(std::move(said));
  }
}

}  // namespace

const Errors* find(const std::vector<Errors>& errors, std::string_view name) {
  auto it = std::ranges::find(errors, name, &Errors::name);
  return it == errors.end() ? nullptr : &*it;
}

Result<SetReport> validate(Library& library, const Constants& constants, const DataSet& set) {
  Resolved resolved = resolve(library, set.rows);
  keep_predictable(constants, resolved);
  if (resolved.cases.empty()) return none_usable(set, resolved);
  std::vector<Prediction> predicted = TRY(predictions(constants, resolved.cases));
  SetReport report;
  report.name = set.name;
  report.title = set.title;
  report.unused_columns = set.unused_columns;
  report.assumed = set.assumed;
  report.assumed.insert(report.assumed.end(), resolved.assumed.begin(), resolved.assumed.end());
  name_unknown_hosts(constants, resolved.cases, report.assumed);
  TRY_VOID(Validation(constants, std::move(resolved.cases), std::move(predicted)).run(report));
  for (const Unusable& one : resolved.unusable) skip(report.skipped, one.error.message, one.line);
  return report;
}

}  // namespace partita::predict
