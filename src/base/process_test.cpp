#include "base/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <limits>

namespace partita {
namespace {

TEST(Process, IsKnownByItsName) {
  const std::string own = own_program().value().filename();
  EXPECT_EQ(process_name(::getpid()), own.substr(0, 15));
  EXPECT_EQ(process_name(std::numeric_limits<pid_t>::max()), "");
}

}  // namespace
}  // namespace partita
