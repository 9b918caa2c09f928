// Resets GPUs of an emulated node: partita_test_reset NODE BUS-ID[,BUS-ID...].
#include <cstdio>

#include "base/text.h"
#include "emulator/control/control.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fputs("usage: partita_test_reset NODE BUS-ID[,BUS-ID...]\n", stderr);
    return 2;
  }
  const auto done = partita::emulator::reset(argv[1], partita::split(argv[2], ','));
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return 1;
}
