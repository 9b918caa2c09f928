#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "study/provider.h"
#include "study/worker_process.h"

namespace partita::study {
namespace {

constexpr double kMost = 1e15;  // of anything: so that no sum ends in infinity

bool is_amount(const nlohmann::json& value) {
  return value.is_number() && value.get<double>() >= 0 && value.get<double>() <= kMost;
}

Result<double> number(const nlohmann::json& object, const char* key, std::string_view line) {
  const auto at = object.find(key);
  if (at == object.end() || !is_amount(*at))
    return fail(ErrorCode::invalid,
                fmt::format("worker line: \"{}\": expected a number of 0 or more, found {}", key, quote(line)));
  return at->get<double>();
}

Result<std::optional<std::string>> text(const nlohmann::json& object, const char* key) {
  const auto at = object.find(key);
  if (at == object.end()) return std::nullopt;
  if (!at->is_string()) return fail(ErrorCode::invalid, fmt::format("worker line: \"{}\": expected text", key));
  const std::string found = one_line(at->get<std::string>());
  return found.empty() ? std::nullopt : std::optional(found);
}

}  // namespace

Result<WorkerLine> read_worker_line(std::string_view line) {
  if (line.size() > kMostLineBytes)
    return fail(ErrorCode::invalid,
                fmt::format("worker line: expected at most {} bytes, found more: {}", kMostLineBytes, quote(line)));
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object())
    return fail(ErrorCode::invalid, fmt::format("worker line: expected a JSON object, found {}", quote(line)));
  WorkerLine out;
  out.t_s = TRY(number(object, "t", line));
  out.device = TRY(text(object, "device"));
  out.error = TRY(text(object, "error"));
  if (object.contains("error")) {
    if (!out.error) out.error = "an error without words";
    return out;
  }
  out.samples = TRY(number(object, "samples", line));
  if (const auto at = object.find("latency_ms"); at != object.end()) {
    if (!at->is_array()) return fail(ErrorCode::invalid, "worker line: \"latency_ms\": expected a list of numbers");
    for (const auto& item : *at) {
      if (!is_amount(item))
        return fail(ErrorCode::invalid, "worker line: \"latency_ms\": expected numbers of 0 or more");
      out.latency_ms.push_back(item.get<double>());
    }
  }
  return out;
}

}  // namespace partita::study
