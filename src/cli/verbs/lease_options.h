// What lease, run and resize are asked for, from their options.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/lease.h"
#include "cli/common.h"

namespace partita::cli {

// `profile`: where the verb takes it. With --workload asks the node for its boards and predicts.
Result<api::Requirement> requirement_of(const Parsed& parsed, Session& session,
                                        const std::optional<std::string>& profile);
// All of it; holder and caller are this user.
Result<api::LeaseRequest> lease_request_of(const Parsed& parsed, Session& session,
                                           const std::optional<std::string>& profile);
// nullopt when the option is absent.
Result<std::optional<std::chrono::milliseconds>> duration_option(
    const Parsed& parsed, std::string_view key, std::chrono::milliseconds least = std::chrono::milliseconds(1));
Result<std::optional<Bytes>> bytes_option(const Parsed& parsed, std::string_view key);

// The smallest profile of the node that is predicted to meet the needs, and its board. In lease_workload.cpp.
struct Recommended {
  std::string profile, board;
  std::string says;  // "resnet50 at batch 8 is predicted to make 512 images/s on a 2g.10gb"
};
Result<Recommended> recommended(const Parsed& parsed, Session& session);

}  // namespace partita::cli
