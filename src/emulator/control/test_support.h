// For the tests of this folder: a temporary root for emulated nodes, processes that wait until they are ended, the
// catalog.
#pragma once

#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "base/test_folder.h"
#include "catalog/catalog.h"
#include "emulator/engine/test_sleeper.h"

namespace partita::emulator {

// PARTITA_EMULATED_ROOT is a new folder for the life of this.
class TemporaryRoot : public TestFolder {
 public:
  TemporaryRoot() { ::setenv("PARTITA_EMULATED_ROOT", path().c_str(), 1); }
  ~TemporaryRoot() { ::unsetenv("PARTITA_EMULATED_ROOT"); }
};

using Child = test::Sleeper;

inline catalog::Catalog open_catalog() {
  auto catalog = catalog::Catalog::open();
  if (!catalog) throw std::runtime_error(catalog.error().message);
  return std::move(*catalog);
}

}  // namespace partita::emulator
