// The directories of control groups: making, removing, reading, writing. Internal to deliver/.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace partita::deliver {

// Writes one control file in one go, as the kernel wants it. 0 or errno.
int write_control(const std::filesystem::path& file, std::string_view text);
// "" when it cannot be read.
std::string read_control(const std::filesystem::path& file);

// A failed write, told: "cannot write 3:x to FILE: Operation not permitted".
Error control_error(const std::filesystem::path& file, std::string_view text, int error);

// The group ROOT/PREFIX/NAME and its parent; again: nothing. Survives that another process removes the empty parent.
Result<void> make_group(const std::filesystem::path& root, const std::string& prefix, const std::string& name);
// With the groups inside it. A group whose last process is just ending is waited for, 200 ms. `busy` when it is not
// empty; absent is no error.
Result<void> remove_group(const std::filesystem::path& group);

std::vector<std::filesystem::path> groups_in(const std::filesystem::path& group);
// All processes of a group and of the groups inside it.
void collect_processes(const std::filesystem::path& group, std::set<pid_t>& into);

bool is_cgroup1(const std::filesystem::path& folder);
bool is_cgroup2(const std::filesystem::path& folder);

}  // namespace partita::deliver
