// The spec as bytes, for the immutable part of the state file. Not a format for people or for other versions: the
// file's format version changes with it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "emulator/engine/spec.h"

namespace partita::emulator {

std::string encode(const NodeSpec& spec);
// `invalid` when the bytes end early or hold something impossible.
Result<NodeSpec> decode(std::string_view bytes);

// The bounds that the engine relies on: counts, grids, starts inside the GPU, unique ids. `invalid` names the GPU,
// the profile and what was expected.
Result<void> check(const NodeSpec& spec);

// FNV-1a over 64-bit words, the rest byte by byte.
std::uint64_t checksum(std::string_view bytes);

}  // namespace partita::emulator
