#include "emulator/namespace/pci_files.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "base/test_folder.h"

namespace partita::emulator {
namespace {

GpuSpec h100() {
  GpuSpec gpu;
  gpu.product = "NVIDIA H100 80GB HBM3";
  gpu.pci_bus_id = "00000000:DF:00.0";
  gpu.pci_device_id = 0x233010DE;
  gpu.pci_subsystem_id = 0x16C110DE;
  gpu.bar1_mib = 131072;
  return gpu;
}

TEST(PciFiles, ConfigSpaceIdentifiesTheDevice) {
  const std::string bytes = config_space(h100());
  ASSERT_EQ(bytes.size(), 256U);
  EXPECT_EQ(bytes.substr(0, 4), "\xde\x10\x30\x23");
  EXPECT_EQ(bytes.substr(9, 3), std::string("\0\x02\x03", 3));
  EXPECT_EQ(bytes.substr(0x2c, 4), "\xde\x10\xc1\x16");
}

TEST(PciFiles, WindowsOfTwoGpusAreApart) {
  const auto windows = [](std::size_t index) {
    std::istringstream text(resource_text(h100(), index));
    std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
    for (std::string start, end, flags; text >> start >> end >> flags;)
      found.emplace_back(std::stoull(start, nullptr, 16), std::stoull(end, nullptr, 16));
    return found;
  };
  const auto first = windows(0), second = windows(1);
  ASSERT_EQ(first.size(), 13U);
  EXPECT_EQ(first[1].second - first[1].first + 1, 131072ULL << 20);
  for (const auto& [start, end] : first)
    for (const auto& [other_start, other_end] : second) {
      if (end != 0 && other_end != 0) {
        EXPECT_TRUE(end < other_start || other_end < start) << start << " " << other_start;
      }
    }
}

TEST(PciFiles, TheFolderHoldsWhatToolsRead) {
  const TestFolder folder;
  NodeSpec spec;
  spec.gpus = {GpuSpec{}, h100()};
  ASSERT_TRUE(write_pci_device(folder.path(), spec, 1));
  const std::filesystem::path at = folder.path() / "0000:df:00.0";
  const auto text = [&](const char* name) { return read_file(at / name).value_or("none"); };
  EXPECT_EQ(text("vendor"), "0x10de\n");
  EXPECT_EQ(text("device"), "0x2330\n");
  EXPECT_EQ(text("subsystem_device"), "0x16c1\n");
  EXPECT_EQ(text("class"), "0x030200\n");
  EXPECT_EQ(text("numa_node"), "1\n");
  EXPECT_EQ(text("modalias"), "pci:v000010DEd00002330sv000010DEsd000016C1bc03sc02i00\n");
  EXPECT_EQ(std::filesystem::read_symlink(at / "driver"), "../../drivers/nvidia");
}

TEST(PciFiles, EachHalfOfTheGpusHasASocketWithHalfOfTheProcessors) {
  NodeSpec spec;
  const auto near = [&](std::size_t gpu, unsigned all) { return processor_list(near_processors(spec, gpu, all)); };
  spec.gpus.resize(8);
  EXPECT_EQ(numa_node(spec, 3), 0);
  EXPECT_EQ(numa_node(spec, 4), 1);
  EXPECT_EQ(near(3, 32), "0-15");
  EXPECT_EQ(near(4, 32), "16-31");
  EXPECT_EQ(near(4, 2), "1");
  EXPECT_EQ(near(4, 1), "0");
  spec.gpus.resize(1);
  EXPECT_EQ(near(0, 32), "0-31");
}

TEST(PciFiles, AWorkstationBoardHasADisplay) {
  GpuSpec gpu = h100();
  gpu.product = "NVIDIA RTX PRO 6000 Blackwell Workstation Edition";
  EXPECT_EQ(pci_class(gpu), kVgaController);
}

}  // namespace
}  // namespace partita::emulator
