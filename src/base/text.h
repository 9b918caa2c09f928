// Small text helpers shared by all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace partita {

std::string join(const std::vector<std::string>& parts, std::string_view separator);
std::vector<std::string> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string lower(std::string_view text);

// The up to `most` candidates nearest to `word` by edit distance (ties in candidate order), leaving out
// those that share little with it. For "did you mean".
std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates,
                                 std::size_t most = 3);

// "; did you mean 1g.10gb or 2g.10gb?" or "" when nothing is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates);

// Text of unknown origin, fit for one line of a message: control characters as \xNN, cut after
// `most` bytes with "...".
std::string one_line(std::string_view text, std::size_t most = 200);
// The same in double quotes, cut after 60 bytes.
std::string quote(std::string_view text);

// One word of a shell's command line: as it is where that is plain, else in single quotes.
std::string shell_word(std::string_view text);

// Line (1-based) of the first byte that is not UTF-8, or nullopt.
std::optional<int> line_of_bad_utf8(std::string_view text);

// "1 instance", "3 instances", "2 processes".
std::string count_of(std::size_t n, std::string_view singular);

}  // namespace partita
