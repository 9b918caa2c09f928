// Times of plans, for people.
#pragma once

#include <string>

namespace partita::fleet {

// "8168467.5 s (94d13h1m7s)": all digits, and from an hour on what that is.
std::string seconds_word(double seconds);

}  // namespace partita::fleet
