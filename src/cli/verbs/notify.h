// Telling the service manager (systemd) how it goes: sd_notify without its library.
#pragma once

#include <string_view>

namespace partita::cli {

// "READY=1", "STOPPING=1". Nothing happens where no service manager listens.
void notify(std::string_view state);

}  // namespace partita::cli
