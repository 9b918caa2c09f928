// The weights that are shipped name the command that makes them.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.h"
#include "base/yaml.h"
#include "catalog/catalog.h"
#include "catalog/embedded.h"
#include "cli/command_line/parse.h"
#include "fleet/online/policy_file.h"

namespace partita::cli {
namespace {

std::string source_of(std::string_view file) {
  const auto document = parse_yaml(catalog::embedded_file(file).value(), std::string(file)).value();
  return document.root.find("source")->text;
}

TEST(ShippedWeights, are_made_by_the_command_that_they_name) {
  auto catalog = catalog::Catalog::open().value();
  const auto files = catalog::embedded_files("policies/");
  EXPECT_EQ(files.size(), 3U);
  for (const auto file : files) {
    auto words = split(source_of(file), ' ');
    ASSERT_EQ(words.front(), "partita") << file;
    words.erase(words.begin());
    const auto parsed = parse(words);
    ASSERT_TRUE(parsed) << file << ": " << parsed.error().message;
    EXPECT_EQ(parsed->verb->name, "policy tune") << file;
    EXPECT_EQ(parsed->text("start"), "plain") << file << ": from weights that are shipped nobody could make them";
    const fleet::Features features(catalog.board(parsed->text("board").value()).value());
    EXPECT_TRUE(fleet::read_weights(catalog::embedded_file(file).value(), std::string(file), features)) << file;
  }
}

}  // namespace
}  // namespace partita::cli
