// All boards. Files are embedded in the program and read on first use of each board; a data folder given by the
// user goes before them (DIR/boards/*.yaml).
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "catalog/board.h"

namespace partita::catalog {

// One line of the index: enough to find a board without reading it.
struct BoardEntry {
  std::string id;
  std::string product;
  std::vector<std::uint16_t> pci_devices;
};

// Not thread safe: reading fills a cache.
class Catalog {
 public:
  // Embedded data, overridden by `data_dir` when given. Fails with file and line when an override is wrong.
  static Result<Catalog> open(const std::optional<std::filesystem::path>& data_dir = std::nullopt);

  const std::vector<BoardEntry>& boards() const;
  // By id. `not_found` carries the nearest ids.
  Result<std::shared_ptr<const Board>> board(std::string_view id);
  // By PCI device id (0x20B0); nullptr value when no board has it.
  Result<std::shared_ptr<const Board>> board_by_pci(std::uint16_t device);

  Catalog(Catalog&&) noexcept;
  Catalog& operator=(Catalog&&) noexcept;
  ~Catalog();

 private:
  struct Impl;
  explicit Catalog(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace partita::catalog
