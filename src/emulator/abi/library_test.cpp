// The library as a file: what it needs and what it shows.
#include <gtest/gtest.h>

#include <cstdio>
#include <sstream>
#include <string>

namespace partita::emulator {
namespace {

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (std::size_t n = 0; (n = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;) output.append(buffer, n);
  ::pclose(pipe);
  return output;
}

// Nothing but the C library is needed, nothing but NVML's names and ours is shown.
TEST(Library, StandsAlone) {
#ifdef PARTITA_SANITIZED
  GTEST_SKIP() << "sanitizers bring their own run time";
#endif
  const std::string path = PARTITA_NVML_LIBRARY;
  const std::string dynamic = output_of("readelf -dW " + path + " 2>/dev/null");
  if (dynamic.empty()) GTEST_SKIP() << "needs readelf";
  EXPECT_NE(dynamic.find("soname: [libnvidia-ml.so.1]"), std::string::npos);
  std::istringstream lines(dynamic);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    EXPECT_TRUE(line.find("[libc.so.") != std::string::npos || line.find("[ld-linux") != std::string::npos) << line;
  }
  std::istringstream symbols(output_of("nm -D --defined-only " + path));
  int shown = 0;
  for (std::string address, kind, name; symbols >> address >> kind >> name; ++shown) {
    EXPECT_TRUE(name.starts_with("nvml") || name.starts_with("partita_emulator_")) << name;
  }
  EXPECT_GT(shown, 440);
}

// Init, calls and an event set's wait start no thread.
TEST(Library, HasNoThread) {
#ifdef PARTITA_SANITIZED
  GTEST_SKIP() << "sanitizers bring their own run time";
#endif
  const std::string symbols = output_of("nm -D --undefined-only " PARTITA_NVML_LIBRARY);
  if (symbols.empty()) GTEST_SKIP() << "needs nm";
  EXPECT_EQ(symbols.find("pthread_create"), std::string::npos);
  EXPECT_EQ(symbols.find("thrd_create"), std::string::npos);
  EXPECT_EQ(symbols.find(" clone"), std::string::npos);
}

}  // namespace
}  // namespace partita::emulator
