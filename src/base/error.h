// What can go wrong, and how it is told.
//
// Every function that can fail returns Result<T>. An Error carries one code (design: error and exit
// codes), one message that names the object, what was expected, what was found and what to do (lower
// case, no full stop), and optional details: one line each, for example the instances in the way.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace partita {

enum class ErrorCode {
  invalid,      // bad input: names file, line, key and what was expected
  not_found,    // no such board, GPU, profile, label: with the nearest names
  differs,      // assert: the node is not in the asked state
  no_space,     // feasible in principle, not now or not here: with the reason
  impossible,   // no empty GPU of that board could ever hold it
  busy,         // would touch something pinned: names holder and pid
  denied,       // not allowed for this user
  driver,       // the driver refused: function, NVML return, GPU
  unavailable,  // no driver, lock held, database locked
  internal,     // our bug
};

struct Error {
  ErrorCode code = ErrorCode::internal;
  std::string message;
  std::vector<std::string> details;
};

template <class T>
using Result = std::expected<T, Error>;

// The stable word of a code, as printed and as found in JSON: "no_space".
std::string_view name(ErrorCode code);

// The process exit status of a code: 1, 2, 3, 4, 5, 6, 7 or 70.
int exit_status(ErrorCode code);

// Shorthand for `return fail(ErrorCode::invalid, "...")`; works for every Result<T>.
inline std::unexpected<Error> fail(ErrorCode code, std::string message, std::vector<std::string> details = {}) {
  return std::unexpected(Error{code, std::move(message), std::move(details)});
}

// Same error, message prefixed with `where` and ": ".
Error in_context(std::string_view where, Error error);

}  // namespace partita

// TRY(expression): the value of a Result, or return its error from the enclosing function.
//   auto board = TRY(catalog.board(id));
//   TRY_VOID(check(board));
// A GNU statement expression; both our compilers have it.
#define TRY(expression)                                              \
  __extension__({                                                    \
    auto partita_try_result = (expression);                          \
    if (!partita_try_result) [[unlikely]]                            \
      return std::unexpected(std::move(partita_try_result).error()); \
    *std::move(partita_try_result);                                  \
  })
// TRY for Result<void>.
#define TRY_VOID(expression)                                         \
  do {                                                               \
    if (auto partita_try_result = (expression); !partita_try_result) \
      return std::unexpected(std::move(partita_try_result).error()); \
  } while (false)
