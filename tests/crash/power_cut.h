// A power cut for SQLite: from begin() on, what this process writes reaches the disk only when it is synced.
#pragma once

namespace partita::node {

// For the rest of this process: writes wait in memory until their file is synced; a process that is killed loses them,
// as a machine without power does.
void begin_power_cut();

}  // namespace partita::node
