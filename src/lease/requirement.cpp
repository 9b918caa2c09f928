// Is a requirement well formed, and how it reads.
#include <fmt/format.h>

#include "api/lease_bounds.h"
#include "base/text.h"
#include "layout/profile_name.h"
#include "lease/choose.h"

namespace partita::lease {

namespace {

std::unexpected<Error> contradiction(std::string_view a, std::string_view b, std::string_view why) {
  return fail(ErrorCode::invalid, fmt::format("{} and {} cannot both be asked: {}", a, b, why));
}

Result<void> check_size(const api::Requirement& requirement) {
  const bool by_size = requirement.memory || requirement.sms;
  const int said = (requirement.profile.empty() ? 0 : 1) + (by_size ? 1 : 0) + (requirement.whole_gpu ? 1 : 0);
  if (said == 0)
    return fail(ErrorCode::invalid,
                "how large the partition must be is not said: expected a profile (3g.20gb), an amount of memory or a "
                "number of SMs, or a whole GPU");
  if (said > 1)
    return fail(ErrorCode::invalid,
                "the size is said in two ways: expected one of a profile, memory and SMs, a whole GPU");
  if (requirement.memory && requirement.memory->value == 0)
    return fail(ErrorCode::invalid, "expected an amount of memory above 0");
  if (requirement.sms && *requirement.sms < 1)
    return fail(ErrorCode::invalid, fmt::format("expected at least 1 SM, found {}", *requirement.sms));
  return {};
}

Result<void> check_compute(const api::Requirement& requirement) {
  if (requirement.compute.size() > api::kMostComputeInstances)
    return fail(ErrorCode::invalid, fmt::format("a GPU instance holds at most {} compute instances, {} are asked",
                                                api::kMostComputeInstances, requirement.compute.size()));
  for (const auto& name : requirement.compute) {
    const bool short_form = name.size() == 2 && name[0] >= '1' && name[0] <= '9' && name[1] == 'c';
    const auto full = layout::parse_profile_name(name);
    if (!short_form && !(full && full->compute_slices_of_ci))
      return fail(ErrorCode::invalid,
                  fmt::format("{} is no compute instance: expected one like 1c or 1c.3g.20gb", quote(name)));
  }
  return {};
}

}  // namespace

Result<void> check(const api::Requirement& requirement) {
  TRY_VOID(check_size(requirement));
  TRY_VOID(check_compute(requirement));
  if (!requirement.profile.empty()) {
    const auto name = TRY(layout::parse_profile_name(requirement.profile));
    const std::string part = fmt::format("the compute instance {}", quote(requirement.profile));
    if (name.compute_slices_of_ci && requirement.bare)
      return contradiction(part, "a bare GPU instance", "a bare one has none");
    if (name.compute_slices_of_ci && !requirement.compute.empty())
      return contradiction(part, "a list of compute instances", "name the GPU instance alone, such as 3g.20gb");
  }
  if (requirement.bare && !requirement.compute.empty())
    return contradiction("a bare GPU instance", "compute instances", "a bare one has none");
  if (requirement.whole_gpu && (requirement.bare || !requirement.compute.empty()))
    return contradiction("a whole GPU", "instances", "its MIG mode is off");
  if (requirement.whole_gpu && requirement.start)
    return contradiction("a whole GPU", "a placement", "it has no instances");
  if (requirement.exclusive_gpu && requirement.same_gpu_as)
    return contradiction("a GPU for itself", "the GPU of another lease", "one of them would not be alone");
  if (requirement.start && !requirement.gpu)
    return fail(ErrorCode::invalid, "a placement is asked without its GPU; name the GPU, too");
  if (requirement.start && *requirement.start < 0)
    return fail(ErrorCode::invalid, fmt::format("expected a placement of 0 or more, found {}", *requirement.start));
  return {};
}

std::string to_string(const api::Requirement& requirement) {
  std::string out;
  if (requirement.whole_gpu) {
    out = "a whole GPU";
  } else if (!requirement.profile.empty()) {
    out = requirement.bare ? "a bare " + requirement.profile : requirement.profile;
  } else {
    if (requirement.memory) out = to_string(*requirement.memory) + " of memory";
    if (requirement.sms) out += fmt::format("{}{}", out.empty() ? "" : " and ", count_of(*requirement.sms, "SM"));
  }
  if (!requirement.compute.empty()) out += fmt::format(" with {}", join(requirement.compute, ", "));
  if (requirement.start) out += fmt::format(" at {}", *requirement.start);
  if (requirement.exclusive_gpu) out += " on a GPU for itself";
  if (requirement.gpu) out += fmt::format(" on GPU {}", one_line(*requirement.gpu, 60));
  if (requirement.board) out += fmt::format(" on {}", one_line(*requirement.board, 60));
  if (requirement.same_gpu_as) out += fmt::format(" on the GPU of {}", one_line(*requirement.same_gpu_as, 64));
  return out;
}

}  // namespace partita::lease
