// Processes by number and start time.
#pragma once

#include <sys/types.h>

#include <optional>

#include "api/lease.h"

namespace partita::node {

struct ProcessFacts {
  api::ProcessId id;
  uid_t uid = 0;  // the effective one
};
// nullopt: there is none (a zombie is none).
std::optional<ProcessFacts> process_facts(pid_t pid);
bool is_alive(const api::ProcessId& process);

}  // namespace partita::node
