// The OpenAPI document of the API, compiled in.
#pragma once

#include <string>

namespace partita::serve {

std::string openapi_document();

}  // namespace partita::serve
