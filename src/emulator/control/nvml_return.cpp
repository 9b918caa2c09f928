#include "emulator/control/nvml_return.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"

namespace partita::emulator {

namespace {

// nvmlReturn_t of nvml.h (NVML API 13).
constexpr std::array<std::pair<int, std::string_view>, 31> kReturns = {{{0, "SUCCESS"},
                                                                        {1, "UNINITIALIZED"},
                                                                        {2, "INVALID_ARGUMENT"},
                                                                        {3, "NOT_SUPPORTED"},
                                                                        {4, "NO_PERMISSION"},
                                                                        {5, "ALREADY_INITIALIZED"},
                                                                        {6, "NOT_FOUND"},
                                                                        {7, "INSUFFICIENT_SIZE"},
                                                                        {8, "INSUFFICIENT_POWER"},
                                                                        {9, "DRIVER_NOT_LOADED"},
                                                                        {10, "TIMEOUT"},
                                                                        {11, "IRQ_ISSUE"},
                                                                        {12, "LIBRARY_NOT_FOUND"},
                                                                        {13, "FUNCTION_NOT_FOUND"},
                                                                        {14, "CORRUPTED_INFOROM"},
                                                                        {15, "GPU_IS_LOST"},
                                                                        {16, "RESET_REQUIRED"},
                                                                        {17, "OPERATING_SYSTEM"},
                                                                        {18, "LIB_RM_VERSION_MISMATCH"},
                                                                        {19, "IN_USE"},
                                                                        {20, "MEMORY"},
                                                                        {21, "NO_DATA"},
                                                                        {22, "VGPU_ECC_NOT_SUPPORTED"},
                                                                        {23, "INSUFFICIENT_RESOURCES"},
                                                                        {24, "FREQ_NOT_SUPPORTED"},
                                                                        {25, "ARGUMENT_VERSION_MISMATCH"},
                                                                        {26, "DEPRECATED"},
                                                                        {27, "NOT_READY"},
                                                                        {28, "GPU_NOT_FOUND"},
                                                                        {29, "INVALID_STATE"},
                                                                        {999, "UNKNOWN"}}};

}  // namespace

Result<int> parse_nvml_return(std::string_view text) {
  int number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = !text.empty() && status == std::errc{} && end == text.data() + text.size();
  std::string word = lower(trim(text));
  if (word.starts_with("nvml_error_")) word.erase(0, 11);
  if (word == "nvml_success") word.erase(0, 5);
  std::vector<std::string> names;
  for (const auto& [value, name] : kReturns) {
    if (is_number ? value == number : lower(name) == word) return value;
    names.emplace_back(name);
  }
  for (char& c : word) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return fail(ErrorCode::invalid, fmt::format("{} is no NVML return; expected a name such as IN_USE, or its number{}",
                                              quote(text), did_you_mean(word, names)));
}

std::string nvml_return_name(int value) {
  for (const auto& [number, name] : kReturns)
    if (number == value) return std::string(name);
  return std::to_string(value);
}

bool is_nvml_function(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return name == "*" ||
         (name.starts_with("nvml") && name.size() > 4 && name.size() < 64 && std::ranges::all_of(name, letter));
}

}  // namespace partita::emulator
