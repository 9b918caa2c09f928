#include "base/process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <limits>

namespace partita {
namespace {

TEST(Process, IsKnownByItsName) {
  const std::string own = own_program().value().filename();
  EXPECT_EQ(process_name(::getpid()), own.substr(0, 15));
  EXPECT_EQ(process_name(std::numeric_limits<pid_t>::max()), "");
}

TEST(Process, ProgramsAreFoundAsAShellDoes) {
  EXPECT_EQ(find_program("sh").value().filename(), "sh");
  EXPECT_EQ(find_program("/bin/sh").value(), "/bin/sh");
  const std::string no_program = testing::TempDir() + "no_program";
  std::ofstream(no_program) << "text";
  for (const std::string& wrong : {std::string(), std::string("no-such-program"), std::string("/no/such/program"),
                                   testing::TempDir(), no_program}) {
    ASSERT_FALSE(find_program(wrong).has_value()) << wrong;
    EXPECT_EQ(find_program(wrong).error().code, ErrorCode::not_found) << wrong;
  }
}

}  // namespace
}  // namespace partita
