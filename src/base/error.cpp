#include "base/error.h"

namespace partita {

std::string_view name(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid:
      return "invalid";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::differs:
      return "differs";
    case ErrorCode::no_space:
      return "no_space";
    case ErrorCode::impossible:
      return "impossible";
    case ErrorCode::busy:
      return "busy";
    case ErrorCode::denied:
      return "denied";
    case ErrorCode::driver:
      return "driver";
    case ErrorCode::unavailable:
      return "unavailable";
    case ErrorCode::internal:
      return "internal";
  }
  return "internal";
}

int exit_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::differs:
      return 1;
    case ErrorCode::invalid:
    case ErrorCode::not_found:
      return 2;
    case ErrorCode::no_space:
    case ErrorCode::impossible:
      return 3;
    case ErrorCode::busy:
      return 4;
    case ErrorCode::denied:
      return 5;
    case ErrorCode::driver:
      return 6;
    case ErrorCode::unavailable:
      return 7;
    case ErrorCode::internal:
      return 70;
  }
  return 70;
}

Error in_context(std::string_view where, Error error) {
  error.message.insert(0, std::string(where) + ": ");
  return error;
}

}  // namespace partita
