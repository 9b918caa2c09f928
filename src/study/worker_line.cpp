#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "study/provider.h"

namespace partita::study {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

Result<double> number(const nlohmann::json& object, const char* key, std::string_view line) {
  const auto at = object.find(key);
  if (at == object.end() || !at->is_number() || !std::isfinite(at->get<double>()) || at->get<double>() < 0) {
    return fail(ErrorCode::invalid, fmt::format("worker line: \"{}\": expected a number of 0 or more, found {}", key,
                                                quote(std::string(line))));
  }
  return at->get<double>();
}

}  // namespace

Result<WorkerLine> read_worker_line(std::string_view line) {
  if (line.size() > kMostBytes)
    return fail(ErrorCode::invalid,
                fmt::format("worker line: expected at most {} bytes, found {}", kMostBytes, line.size()));
  const auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object())
    return fail(ErrorCode::invalid,
                fmt::format("worker line: expected a JSON object, found {}", quote(std::string(line))));
  WorkerLine out;
  out.t_s = TRY(number(object, "t", line));
  if (const auto at = object.find("error"); at != object.end()) {
    if (!at->is_string()) return fail(ErrorCode::invalid, "worker line: \"error\": expected text");
    out.error = at->get<std::string>();
    return out;
  }
  out.samples = TRY(number(object, "samples", line));
  if (const auto at = object.find("latency_ms"); at != object.end()) {
    if (!at->is_array()) return fail(ErrorCode::invalid, "worker line: \"latency_ms\": expected a list of numbers");
    for (const auto& item : *at) {
      if (!item.is_number() || !std::isfinite(item.get<double>()) || item.get<double>() < 0)
        return fail(ErrorCode::invalid, "worker line: \"latency_ms\": expected numbers of 0 or more");
      out.latency_ms.push_back(item.get<double>());
    }
  }
  return out;
}

}  // namespace partita::study
