// What is wrong with this node and how to mend it.
#pragma once

#include "api/node.h"
#include "node/node.h"

namespace partita::node {

// `driver` null: it could not be opened, `why` says so.
api::DoctorAnswer diagnose(const Options& options, driver::Driver* driver, const Error* why);

}  // namespace partita::node
