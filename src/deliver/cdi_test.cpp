#include "deliver/cdi.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <fstream>

#include "base/file.h"
#include "base/test_folder.h"

namespace partita::deliver {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(CdiSpecification, AWholeOne) {
  const std::vector<CdiDevice> devices = {{{"0:1", "MIG-1234", "alice-train"},
                                           {{"/dev/nvidia0", "", "rw"}, {"/dev/nvidia-caps/nvidia-cap12", "", "r"}},
                                           {{"NVIDIA_VISIBLE_DEVICES", "void"}}}};
  const std::string text = cdi_specification(devices);
  EXPECT_THAT(text, HasSubstr(R"({
  "cdiVersion": "0.5.0",
  "kind": "nvidia.com/gpu",
  "devices": [
    {
      "name": "0:1",
      "containerEdits": {
        "env": [
          "NVIDIA_VISIBLE_DEVICES=void"
        ],
        "deviceNodes": [
          {
            "path": "/dev/nvidia0",
            "permissions": "rw"
          },
          {
            "path": "/dev/nvidia-caps/nvidia-cap12",
            "permissions": "r"
          }
        ]
      }
    },
    {
      "name": "MIG-1234",
)"));
  EXPECT_THAT(text, HasSubstr("\"name\": \"alice-train\""));
}

std::string version_of(const CdiDevice& device) {
  const std::string text = cdi_specification({&device, 1});
  return text.substr(text.find(": \"") + 3, 5);
}

TEST(CdiSpecification, TheLowestVersionThatItNeeds) {
  EXPECT_EQ(version_of({{"MIG-1234"}, {{"/dev/nvidia0", "", "rw"}}, {}}), "0.3.0");
  EXPECT_EQ(version_of({{"0"}, {{"/dev/nvidia0", "", "rw"}}, {}}), "0.5.0") << "a name that begins with a digit";
  EXPECT_EQ(version_of({{"MIG-1234"}, {{"/dev/nvidia0", "/emulated/dev/nvidia0", "rw"}}, {}}), "0.5.0");
}

TEST(CdiSpecification, NamesThatWouldVoidTheFileAreLeftOut) {
  const std::vector<CdiDevice> devices = {
      {{"0:1", "trailing-", "0:1", "a b", "", "\u00e4"}, {{"/dev/nvidia0", "", "rw"}}, {}},
      {{"0:1", "good"}, {{"/dev/nvidia1", "", "rw"}}, {}}};
  const std::string text = cdi_specification(devices);
  EXPECT_EQ(text.find("\"0:1\""), text.rfind("\"0:1\""));
  EXPECT_THAT(text, Not(HasSubstr("trailing")));
  EXPECT_THAT(text, Not(HasSubstr("a b")));
  EXPECT_THAT(text, HasSubstr("good"));
}

TEST(CdiSpecification, DeviceNames) {
  for (const char* good : {"0", "0:1", "MIG-d0ab", "a.b_c-d", "A"}) EXPECT_TRUE(is_cdi_device_name(good)) << good;
  for (const std::string_view bad : {std::string_view(""), std::string_view("-a"), std::string_view("a-"),
                                     std::string_view(":1"), std::string_view("a/b"), std::string_view("a\0b", 3)})
    EXPECT_FALSE(is_cdi_device_name(bad)) << bad;
}

TEST(CdiFiles, WrittenListedRemoved) {
  const TestFolder folder;
  const auto cdi = folder.path() / "var/run/cdi";
  EXPECT_THAT(list_cdi(cdi), IsEmpty()) << "lost at a reboot";
  ASSERT_TRUE(write_cdi(cdi, "b.lease", "{}\n"));
  ASSERT_TRUE(write_cdi(cdi, "a", "{}\n"));
  ASSERT_TRUE(write_cdi(cdi, "a", "{\"new\": 1}\n")) << "replaced";
  std::ofstream(cdi / "nvidia.yaml") << "others' stay\n";
  std::ofstream(cdi / ".partita-c.new") << "half of a";
  EXPECT_THAT(list_cdi(cdi), ElementsAre("a", "b.lease"));
  EXPECT_EQ(read_file(cdi / "partita-a.json").value(), "{\"new\": 1}\n");
  struct stat status{};
  ASSERT_EQ(::stat((cdi / "partita-a.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0644u) << "users without root read it";
  ASSERT_TRUE(remove_cdi(cdi, "a"));
  ASSERT_TRUE(remove_cdi(cdi, "a")) << "again";
  EXPECT_THAT(list_cdi(cdi), ElementsAre("b.lease"));
}

TEST(CdiFiles, StemsStayInTheFolder) {
  const TestFolder folder;
  for (const char* stem : {"", "../x", "a/b"}) {
    EXPECT_EQ(write_cdi(folder.path(), stem, "{}").error().code, ErrorCode::invalid);
    EXPECT_EQ(remove_cdi(folder.path(), stem).error().code, ErrorCode::invalid);
  }
}

TEST(CdiFiles, AFolderThatCannotBeMadeIsSaid) {
  const TestFolder folder;
  const auto file = folder.write("cdi", "");
  const auto written = write_cdi(file, "a", "{}");
  ASSERT_FALSE(written);
  EXPECT_THAT(written.error().message, HasSubstr(file.string()));
}

}  // namespace
}  // namespace partita::deliver
