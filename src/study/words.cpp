#include "study/words.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

namespace partita::study {
namespace {

std::string grouped(double whole) {
  const std::string digits = fmt::format("{:.0f}", std::abs(whole));
  std::string out = whole < 0 ? "-" : "";
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

}  // namespace

std::string figure_of(double value) {
  if (std::isinf(value)) return "unbounded";
  if (value == 0) return "0";
  const double step = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  const double rounded = std::round(value / step) * step;
  if (std::abs(rounded) >= 100) return grouped(rounded);
  if (std::abs(rounded) >= 10) return fmt::format("{:.1f}", rounded);
  return std::abs(rounded) >= 1 ? fmt::format("{:.2f}", rounded) : fmt::format("{:.3g}", rounded);
}

std::string percent(double share) {
  const double value = 100 * share;
  return std::abs(value) >= 99.95 || value == 0 ? fmt::format("{:.0f} %", value) : fmt::format("{:.1f} %", value);
}

std::string milliseconds(double seconds) {
  if (std::isinf(seconds)) return "unbounded";
  return seconds < 1 ? figure_of(seconds * 1e3) + " ms" : figure_of(seconds) + " s";
}

std::string gibibytes(double mib) { return fmt::format("{:.1f} GiB", mib / 1024); }

std::string list_of(const std::vector<std::string>& items) {
  std::string out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += i + 1 == items.size() ? " and " : ", ";
    out += items[i];
  }
  return out;
}

std::string capital(std::string text) {
  // Names such as grid_a100-7-40c or vGPU keep their letters.
  const std::string word = text.substr(0, text.find_first_of(" ,:;."));
  const bool plain = std::ranges::all_of(word, [](unsigned char c) { return std::islower(c) || c == '-'; });
  if (plain && !text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text;
}

std::string interval_of(const predict::Estimate& e) {
  return fmt::format("{} ({} to {})", figure_of(e.median), figure_of(e.low), figure_of(e.high));
}

report::Value value_of(const predict::Estimate& e) { return {e.median, e.low, e.high}; }

std::string sentence(std::string text) {
  text = capital(std::move(text));
  if (!text.empty() && text.back() != '.') text += '.';
  return text;
}

}  // namespace partita::study
