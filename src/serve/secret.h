// Secrets: made, hashed, compared.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace partita::serve {

// 32 random bytes as 64 hexadecimal digits.
Result<std::string> new_secret();
// SHA-256 as hexadecimal digits: enough for secrets of 256 random bits, which nobody can guess.
std::string hash_of(std::string_view text);
// In a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace partita::serve
