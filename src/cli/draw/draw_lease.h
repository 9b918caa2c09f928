// Leases drawn for people.
#pragma once

#include <string>
#include <vector>

#include "api/lease.h"
#include "base/clock.h"
#include "cli/draw/terminal.h"

namespace partita::cli {

// One lease with all that it grants, and how to use it, one line each. `command` reaches its node ("partita --emulate
// lab"), so that the lines can be copied.
std::string draw_lease(const Look& look, const api::Lease& lease, Time now, const std::string& command = "partita");
// A table: who has what until when, and who waits.
std::string draw_leases(const Look& look, const std::vector<api::Lease>& leases, Time now);

// "3g.20gb", "9.00 GiB or more", "a whole GPU".
std::string requirement_words(const api::Requirement& requirement);
// "lease a waits for 3g.20gb, 2nd in line, at the latest in 3m: releasing lease b makes it fit".
std::string waiting_words(const api::Lease& lease, Time now);

}  // namespace partita::cli
