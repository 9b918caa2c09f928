// The few things that a view is made of. All act in the mount namespace of the calling process.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/error.h"

namespace partita::emulator {

enum class BindAs { is, read_only, closed /* device nodes cannot be opened */ };

// Shows `from` at `to` as well: a folder with all that is mounted in it, or a file.
Result<void> bind(const std::filesystem::path& from, const std::filesystem::path& to, BindAs as = BindAs::is);

// An empty folder in memory at `to`, over what is there.
Result<void> mount_memory(const std::filesystem::path& to);

// Writes a new file.
Result<void> write_list(const std::filesystem::path& path, std::string_view text);

std::unexpected<Error> cannot_show(std::string_view what, const std::filesystem::path& path, int error);

}  // namespace partita::emulator
