#include "emulator/programs/output.h"

#include <gtest/gtest.h>

namespace partita::emulator::programs {
namespace {

Field gpu() {
  return branch(
      "gpu", "GPU 00000000:07:00.0",
      {leaf("product_name", "Product Name", "A <small> & fast one"), leaf("mig_devices", "MIG Devices", "None"),
       branch("fb_memory_usage", "FB Memory Usage", {leaf("total", "Total", "40960 MiB")}),
       leaf("processes", "Processes", "None")});
}

TEST(Output, PathsLeadToTexts) {
  EXPECT_EQ(text_at(gpu(), "fb_memory_usage/total"), "40960 MiB");
  EXPECT_EQ(text_at(gpu(), "fb_memory_usage/used"), "N/A");
  EXPECT_EQ(text_at(gpu(), "nothing/there"), "N/A");
}

TEST(Output, XmlEscapesAndHasEmptyListsAsNvidiaSmi) {
  const Gpu device{0, {}, "00000000:07:00.0"};
  const Field tree = gpu();
  EXPECT_EQ(draw_xml({leaf("attached_gpus", "Attached GPUs", "1")}, {&tree, 1}, {&device, 1}),
            "<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n<nvidia_smi_log>\n"
            "\t<attached_gpus>1</attached_gpus>\n"
            "\t<gpu id=\"00000000:07:00.0\">\n"
            "\t\t<product_name>A &lt;small&gt; &amp; fast one</product_name>\n"
            "\t\t<mig_devices>\n\t\t\tNone\n\t\t</mig_devices>\n"
            "\t\t<fb_memory_usage>\n\t\t\t<total>40960 MiB</total>\n\t\t</fb_memory_usage>\n"
            "\t\t<processes>\n\t\t</processes>\n"
            "\t</gpu>\n\n</nvidia_smi_log>\n");
}

TEST(Output, TextHasItsColonsInOneColumn) {
  const Field tree = gpu();
  EXPECT_EQ(draw_text({leaf("attached_gpus", "Attached GPUs", "1")}, {&tree, 1}),
            "\n==============NVSMI LOG==============\n\n\n"
            "Attached GPUs                             : 1\n"
            "GPU 00000000:07:00.0\n"
            "    Product Name                          : A <small> & fast one\n"
            "    MIG Devices                           : None\n"
            "    FB Memory Usage\n"
            "        Total                             : 40960 MiB\n"
            "    Processes                             : None\n\n");
}

}  // namespace
}  // namespace partita::emulator::programs
