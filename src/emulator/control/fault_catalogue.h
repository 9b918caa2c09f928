// What can go wrong on an emulated node, with the words that make it so: the catalogue in docs/emulator.md.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace partita::emulator {

struct CatalogueRow {
  std::string_view fault;      // what happens
  std::string_view command;    // after "partita emulate "
  std::string_view node_file;  // an entry of `faults`; "" where there is none
  std::string_view sees;       // what a client finds
};

std::span<const CatalogueRow> fault_catalogue();
// A table in Markdown.
std::string fault_catalogue_text();

}  // namespace partita::emulator
