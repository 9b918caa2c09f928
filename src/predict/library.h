// Boards, profiles and workloads by the names that people and their files use.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"
#include "predict/model.h"
#include "predict/workload.h"

namespace partita::predict {

// A partition as named, and what had to be assumed to find it ("" where nothing).
struct NamedPartition {
  Partition partition;
  std::string assumed;
};

// "3g.40gb", "1c.3g.40gb", "3g", "MIG 3g.40gb", "whole" on this board; `not_found` names the profiles that it has.
Result<Partition> partition_on(const catalog::Board& board, const std::string& profile);

// Reads each file once. Not thread safe; what it hands out lives as long as it does.
class Library {
 public:
  static Result<Library> open(const std::optional<std::filesystem::path>& data_dir = std::nullopt);

  // The user's own workload file: found by its name, before a shipped one. `invalid` names file, line and key.
  Result<void> add(std::string text, std::string file);

  Result<const catalog::Board*> board(const std::string& id);
  // A sequence length is left aside where the network has none. `not_found` with the nearest names, `invalid` for a
  // sequence that is too long.
  Result<const Workload*> workload(const std::string& name, std::optional<int> sequence);
  Result<Partition> partition(const std::string& board, const std::string& profile);
  // The board by its id, its product's name or a part of it ("A100 80GB"), as far as that and the profile tell it:
  // where only the form differs, the SXM one is assumed. `not_found` names what it may be.
  Result<NamedPartition> find(const std::string& board, const std::string& profile);

 private:
  struct Own {
    std::string name, text, file;
  };
  explicit Library(catalog::Catalog catalog) : catalog_(std::move(catalog)) {}
  Result<Workload> build(const std::string& name, std::optional<int> sequence) const;
  Result<NamedPartition> choose(const std::string& text, const std::vector<std::string>& ids,
                                const std::string& profile);
  catalog::Catalog catalog_;
  std::vector<Own> own_;
  std::map<std::string, std::shared_ptr<const catalog::Board>> boards_;
  std::map<std::pair<std::string, int>, std::unique_ptr<Workload>> workloads_;
};

}  // namespace partita::predict
