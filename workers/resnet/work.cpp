#include "resnet/work.h"

#include <fmt/format.h>

#include "base/text.h"
#include "resnet/intervals.h"

namespace partita::resnet {
namespace {

Result<void> run_steps(const Options& options, Job& job, const Teller& teller) {
  Intervals intervals(options.interval_s);
  const double start_s = teller.now_s();
  double now = 0;
  std::optional<Trouble> trouble;
  for (int done = 0; options.steps ? done < *options.steps : now < options.seconds; ++done) {
    if (teller.stop()) break;
    const double before = now;
    trouble = job.step();
    now = teller.now_s() - start_s;
    if (trouble) break;
    if (!intervals.add(now, options.job.batch, 1e3 * (now - before))) continue;
    teller.progress(fmt::format("{:.0f} s: {:.4g} images/s", now, intervals.rate(now)));
    TRY_VOID(teller.line(intervals.line(now)));
  }
  if (!intervals.empty()) TRY_VOID(teller.line(intervals.line(now)));
  if (!trouble) return {};
  if (trouble->kind == Trouble::Kind::out_of_memory) return teller.line(error_line(now, trouble->words));
  return std::unexpected(to_error(*trouble));
}

}  // namespace

Error to_error(const Trouble& trouble) {
  const bool wrong = trouble.kind == Trouble::Kind::wrong_options;
  return {wrong ? ErrorCode::invalid : ErrorCode::driver, one_line(trouble.words), {}};
}

Result<void> work(const Options& options, Job& job, const Teller& teller) {
  const std::string what = fmt::format("{} {}, batch {}, {}", name(options.job.model), name(options.job.mode),
                                       options.job.batch, name(options.job.precision));
  TRY_VOID(teller.line(first_line(job.device(), what)));
  teller.progress(fmt::format("{} on {}: the first step", what, job.device()));
  auto trouble = job.load();
  if (!trouble && !teller.stop()) trouble = job.step();
  if (!trouble) return run_steps(options, job, teller);
  if (trouble->kind == Trouble::Kind::out_of_memory) return teller.line(error_line(0, trouble->words));
  return std::unexpected(to_error(*trouble));
}

}  // namespace partita::resnet
