#include "serve/openapi.h"

namespace partita::serve {
namespace {

struct EmbeddedRow {
  const char* path;
  const char* begin;
  const char* end;
};
#include "openapi_table.inc"

}  // namespace

std::string openapi_document() { return {kRows[0].begin, kRows[0].end}; }

}  // namespace partita::serve
