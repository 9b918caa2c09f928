// The text files of /proc in which a node's lines stand among those of this machine.
#pragma once

#include <string>
#include <string_view>

namespace partita::emulator {

// /proc/devices with the node's character devices put in by number; NVIDIA's own lines of this machine are left out.
std::string devices_with(std::string_view machine, std::string_view node);

// Whether the machine's list has a character device of another driver under one of the node's numbers.
bool numbers_taken(std::string_view machine, std::string_view node);

// /proc/modules with the driver's modules first, as the latest that were loaded.
std::string modules_with(std::string_view machine);

}  // namespace partita::emulator
