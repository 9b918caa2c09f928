#include "predict/workload.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "base/yaml.h"
#include "catalog/embedded.h"

namespace partita::predict {
namespace {

// Every shipped file says what was published about the network; the operations made from it must add up to that.
TEST(ShippedWorkloads, TotalsAreThePublishedOnesWithinOnePercent) {
  ASSERT_GE(shipped_workloads().size(), 20u);
  for (const WorkloadEntry& entry : shipped_workloads()) {
    SCOPED_TRACE(entry.name);
    const auto text = catalog::embedded_file("workloads/" + entry.name + ".yaml");
    ASSERT_TRUE(text);
    const auto document = parse_yaml(*text, entry.name);
    ASSERT_TRUE(document);
    const YamlNode* published = document->root.find("published");
    ASSERT_TRUE(published);
    std::optional<int> sequence;
    if (const YamlNode* node = published->find("sequence")) sequence = std::stoi(node->text);
    const auto workload = shipped_workload(entry.name, sequence);
    ASSERT_TRUE(workload) << workload.error().message;
    const Totals sum = totals(workload->operations);
    const double parameters = std::stod(published->find("parameters")->text);
    EXPECT_NEAR(sum.parameters, parameters, parameters * 0.01);
    if (const YamlNode* node = published->find("gmacs")) {
      const double gmacs = std::stod(node->text);
      EXPECT_NEAR(sum.macs / 1e9, gmacs, gmacs * 0.01);
    }
  }
}

TEST(ShippedWorkloads, InceptionAtItsOwnInputSizeHasThePublishedCost) {
  std::string text(catalog::embedded_file("workloads/inception-v3.yaml").value());
  const std::string_view size = "[3, 224, 224]";
  text.replace(text.find(size), size.size(), "[3, 299, 299]");
  const auto workload = read_workload(text, "inception.yaml");
  ASSERT_TRUE(workload) << workload.error().message;
  EXPECT_NEAR(totals(workload->operations).macs / 1e9, 5.71, 0.0571);
}

TEST(ShippedWorkloads, AreFoundByAliasAndUnknownNamesGetTheNearest) {
  const auto vit = shipped_workload("vision_transformer");
  ASSERT_TRUE(vit);
  EXPECT_EQ(vit->name, "vit-b-16");
  EXPECT_EQ(vit->unit, "images");
  const auto wrong = shipped_workload("resnet5");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::not_found);
  EXPECT_TRUE(wrong.error().message.starts_with("no workload \"resnet5\" is shipped; did you mean resnet50"));
}

TEST(ShippedWorkloads, NamesAreUniqueAndSourcesAreGiven) {
  std::set<std::string> names;
  for (const WorkloadEntry& entry : shipped_workloads()) {
    EXPECT_TRUE(names.insert(entry.name).second) << entry.name;
    EXPECT_FALSE(shipped_workload(entry.name)->source.empty()) << entry.name;
  }
}

}  // namespace
}  // namespace partita::predict
