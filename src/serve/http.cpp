#include "serve/http.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace partita::serve {

std::optional<std::string> Request::header(const std::string& lower_name) const {
  const auto found = headers.find(lower_name);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

bool Request::accepts(std::string_view type) const {
  const auto value = header("accept");
  if (!value) return false;
  return std::ranges::any_of(split(*value, ','),
                             [&](const std::string& each) { return lower(trim(split(each, ';').front())) == type; });
}

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return 400;
    case ErrorCode::not_found:
      return 404;
    case ErrorCode::no_space:
    case ErrorCode::busy:
    case ErrorCode::differs:
      return 409;
    case ErrorCode::impossible:
      return 422;
    case ErrorCode::denied:
      return 403;
    case ErrorCode::driver:
      return 502;
    case ErrorCode::unavailable:
      return 503;
    case ErrorCode::internal:
      return 500;
  }
  return 500;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 409:
      return "Conflict";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 416:
      return "Range Not Satisfiable";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    default:
      return "Internal Server Error";
  }
}

Response problem(const Error& error, std::optional<int> status) {
  using Json = nlohmann::ordered_json;
  constexpr int kIndent = 2;
  Response out;
  out.status = status.value_or(http_status(error.code));
  out.type = "application/problem+json";
  Json json;
  json["type"] = "about:blank";
  json["title"] = reason_phrase(out.status);
  json["status"] = out.status;
  json["code"] = name(error.code);
  json["detail"] = error.message;
  json["details"] = error.details;
  out.body = json.dump(kIndent, ' ', false, Json::error_handler_t::replace) + '\n';
  return out;
}

}  // namespace partita::serve
