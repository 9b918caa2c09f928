#include "emulator/namespace/proc_lists.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/text.h"

namespace partita::emulator {

namespace {

struct Numbered {
  int number = 0;
  std::string name;
};

// The lines of "Character devices:" or "Block devices:".
std::vector<Numbered> section(std::string_view text, std::string_view heading) {
  std::vector<Numbered> found;
  bool inside = false;
  for (const std::string& line : split(text, '\n')) {
    const std::string_view words = trim(line);
    if (words.ends_with(':')) {
      inside = words == heading;
      continue;
    }
    const std::size_t space = words.find(' ');
    Numbered row;
    if (!inside || space == std::string_view::npos ||
        std::from_chars(words.data(), words.data() + space, row.number).ec != std::errc{})
      continue;
    row.name = trim(words.substr(space));
    found.push_back(std::move(row));
  }
  return found;
}

bool is_nvidia(std::string_view name) { return name.starts_with("nvidia"); }

std::string lines_of(const std::vector<Numbered>& rows) {
  std::string text;
  for (const Numbered& row : rows) {
    const std::string number = std::to_string(row.number);
    text += std::string(number.size() < 3 ? 3 - number.size() : 0, ' ') + number + ' ' + row.name + '\n';
  }
  return text;
}

constexpr std::string_view kCharacter = "Character devices:", kBlock = "Block devices:";

}  // namespace

std::string devices_with(std::string_view machine, std::string_view node) {
  std::vector<Numbered> rows = section(machine, kCharacter);
  std::erase_if(rows, [](const Numbered& row) { return is_nvidia(row.name); });
  for (Numbered& row : section(node, kCharacter)) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, {}, &Numbered::number);
  return std::string(kCharacter) + '\n' + lines_of(rows) + '\n' + std::string(kBlock) + '\n' +
         lines_of(section(machine, kBlock));
}

bool numbers_taken(std::string_view machine, std::string_view node) {
  const std::vector<Numbered> wanted = section(node, kCharacter);
  return std::ranges::any_of(section(machine, kCharacter), [&](const Numbered& row) {
    return std::ranges::find(wanted, row.number, &Numbered::number) != wanted.end();
  });
}

std::string modules_with(std::string_view machine) {
  // Sizes of no meaning; who uses whom is as on a node without a display.
  std::string text =
      "nvidia_uvm 4767744 0 - Live 0x0000000000000000 (OE)\n"
      "nvidia 54001664 1 nvidia_uvm, Live 0x0000000000000000 (OE)\n";
  for (const std::string& line : split(machine, '\n'))
    if (!line.empty() && !is_nvidia(line)) text += line + '\n';
  return text;
}

}  // namespace partita::emulator
