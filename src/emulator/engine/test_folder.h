// TestFolder by the name that this folder's tests use.
#pragma once

#include "base/test_folder.h"

namespace partita::emulator::test {

using partita::TestFolder;

}  // namespace partita::emulator::test
