#include "catalog/attributes.h"

#include <utility>

namespace partita::catalog {

namespace {

constexpr std::pair<std::string_view, bool Attributes::*> kWords[] = {
    {"me", &Attributes::me}, {"me_all", &Attributes::me_all}, {"gfx", &Attributes::gfx}, {"no_me", &Attributes::no_me}};

}  // namespace

std::vector<std::string_view> attribute_words(const Attributes& attributes) {
  std::vector<std::string_view> out;
  for (const auto& [word, member] : kWords)
    if (attributes.*member) out.push_back(word);
  return out;
}

bool set_attribute(Attributes& attributes, std::string_view word) {
  for (const auto& [known, member] : kWords)
    if (word == known) return attributes.*member = true;
  return false;
}

}  // namespace partita::catalog
