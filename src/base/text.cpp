#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <numeric>

namespace partita {

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (;;) {
    const auto end = text.find(separator);
    out.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const auto first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

namespace {

// Levenshtein distance, one row kept.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substituted = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string>& candidates, std::size_t most) {
  constexpr std::size_t kLongest = 200;  // longer words are nobody's typing mistake
  if (word.size() > kLongest) return {};
  const std::string wanted = lower(word);
  std::vector<std::pair<std::size_t, const std::string*>> scored;
  for (const auto& candidate : candidates) {
    const std::string other = lower(candidate.substr(0, kLongest));
    std::size_t distance = edit_distance(wanted, other);
    if (!wanted.empty() && other.find(wanted) != std::string::npos) distance = std::min<std::size_t>(distance, 1);
    if (2 * distance <= std::max<std::size_t>(4, std::max(wanted.size(), other.size())))
      scored.emplace_back(distance, &candidate);
  }
  std::ranges::sort(scored);  // by distance, then by place in the list
  std::vector<std::string> out;
  for (const auto& [distance, candidate] : scored) {
    if (out.size() == most) break;
    if (std::ranges::find(out, *candidate) == out.end()) out.push_back(*candidate);
  }
  return out;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& candidates) {
  const auto near = nearest(word, candidates);
  if (near.empty()) return "";
  std::string out = "; did you mean " + near[0];
  for (std::size_t i = 1; i < near.size(); ++i) out += (i + 1 == near.size() ? " or " : ", ") + near[i];
  return out + "?";
}

std::string one_line(std::string_view text, std::size_t most) {
  constexpr char kHex[] = "0123456789ABCDEF";
  bool cut = text.size() > most;
  if (cut) text = text.substr(0, most);
  while (cut && !text.empty() && (text.back() & 0xC0) == 0x80) text.remove_suffix(1);  // not inside a character
  if (cut && !text.empty() && (text.back() & 0x80)) text.remove_suffix(1);
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F)
      out += c;
    else
      out.append({'\\', 'x', kHex[byte >> 4], kHex[byte & 15]});
  }
  return cut ? out + "..." : out;
}

std::string quote(std::string_view text) { return '"' + one_line(text, 60) + '"'; }

std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./=,:+@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string count_of(std::size_t n, std::string_view singular) {
  const char* plural = singular.ends_with('s') ? "es" : "s";
  return std::to_string(n) + " " + std::string(singular) + (n == 1 ? "" : plural);
}

std::optional<int> line_of_bad_utf8(std::string_view text) {
  int line = 1;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '\n') ++line;
    if (byte < 0x80) {
      ++i;
      continue;
    }
    const std::size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
    if (byte < 0xC2 || byte > 0xF4 || i + length > text.size()) return line;
    std::uint32_t code = byte & (0x7Fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      if ((next & 0xC0) != 0x80) return line;
      code = code << 6 | (next & 0x3F);
    }
    const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (overlong || (code >= 0xD800 && code <= 0xDFFF) || code > 0x10FFFF) return line;
    i += length;
  }
  return std::nullopt;
}

}  // namespace partita
