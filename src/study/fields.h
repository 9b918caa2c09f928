// A mapping of a study file read key by key, each with its type and range. Internal to study/.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/yaml.h"

namespace partita::study {

class Fields {
 public:
  using Keys = std::initializer_list<std::string_view>;

  Fields(YamlPlace place, const YamlNode& node) : place_(std::move(place)), node_(&node) {}

  // The node is a mapping with all `required` keys and no others than those and `optional`.
  Result<void> only(Keys required, Keys optional = {}) const;
  bool has(std::string_view key) const { return node_->find(key) != nullptr; }

  Result<std::string> text(std::string_view key) const;  // not empty
  Result<std::string> text_or(std::string_view key, std::string_view otherwise) const;
  Result<int> integer(std::string_view key, int min, int max, std::optional<int> otherwise = std::nullopt) const;
  // Within min..max, both included.
  Result<double> number(std::string_view key, double min, double max,
                        std::optional<double> otherwise = std::nullopt) const;
  Result<bool> flag(std::string_view key, bool otherwise) const;
  Result<std::vector<std::string>> texts(std::string_view key) const;                       // empty where absent
  Result<std::vector<int>> integers(std::string_view key, int min, int max) const;          // empty where absent
  Result<std::vector<double>> numbers(std::string_view key, double min, double max) const;  // empty where absent
  Result<std::optional<Fields>> child(std::string_view key) const;                          // nullopt where absent
  Result<Fields> section(std::string_view key) const;                                       // must be there
  Result<std::vector<Fields>> rows(std::string_view key) const;                             // must be there, not empty
  std::vector<std::string> keys() const;

  // `invalid` at the key, or at the mapping where it is absent.
  std::unexpected<Error> error(std::string_view key, std::string_view message) const;

 private:
  const YamlNode* find(std::string_view key) const { return node_->find(key); }
  Result<const YamlNode*> need(std::string_view key) const;

  YamlPlace place_;
  const YamlNode* node_;
};

}  // namespace partita::study
