#include "predict/workload.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace partita::predict
