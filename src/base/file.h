// Files, for the doors that may open them (cli, node, serve, emulator control).
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace partita {

// The whole file as text; "-" reads standard input. Refuses files over `limit_bytes`, directories and devices
// (except standard input) with `invalid`; a missing file is `not_found`, an unreadable one `denied`. A named pipe is
// waited for, up to 10 s.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit_bytes = 64u << 20);

// Writes to a temporary file beside `path`, syncs, renames: readers see the old or the new text, never a half.
// A symbolic link stays and what it names is replaced; a pipe or device is written to and stays what it is.
Result<void> write_file_atomically(const std::filesystem::path& path, std::string_view text, unsigned mode = 0644);

// The error that writing `path` would give by now, for work that takes long before it writes. Changes nothing.
Result<void> can_write_file(const std::filesystem::path& path);

}  // namespace partita
