// What keeps the driver from opening, told apart.
#include <fstream>

#include "driver/test_support.h"

namespace partita::driver {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Error open_error(const std::filesystem::path& library) {
  auto catalog = value(catalog::Catalog::open());
  auto opened = Driver::open(catalog, {.library = library});
  if (opened) throw std::runtime_error("opened");
  return opened.error();
}

TEST(Open, SaysThatTheLibraryIsMissing) {
  const auto error = open_error("/nowhere/libnvidia-ml.so.1");
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("/nowhere/libnvidia-ml.so.1"), HasSubstr("install the driver"), HasSubstr("--emulate")));
}

TEST(Open, SaysThatTheFileIsNoLibrary) {
  const auto file = std::filesystem::temp_directory_path() / ("partita-no-library-" + std::to_string(::getpid()));
  std::ofstream(file) << "hello";
  const auto error = open_error(file);
  std::filesystem::remove(file);
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message, AllOf(HasSubstr(file.string()), HasSubstr("cannot load")));
}

TEST(Open, NamesTheFirstFunctionThatIsMissing) {
  const auto error = open_error(PARTITA_NO_FUNCTIONS_LIBRARY);
  EXPECT_EQ(error.code, ErrorCode::unavailable);
  EXPECT_THAT(error.message,
              AllOf(HasSubstr("no function nvmlInit_v2"), HasSubstr("too old"), HasSubstr("R450 or newer")));
}

using Init = EmulatedDriver;

TEST_F(Init, SaysWhatNvmlInitAnswered) {
  start("a30x2");
  fault("nvmlInit_v2", 9);
  auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
  EXPECT_THAT(opened.error().message, AllOf(HasSubstr("not loaded"), HasSubstr("(9)")));

  fault("nvmlInit_v2", 18);
  opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
  EXPECT_THAT(opened.error().message, HasSubstr("different versions"));

  fault("nvmlInit_v2", 4);
  opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::denied);

  EXPECT_TRUE(try_open());  // faults used up
}

TEST_F(Init, ANodeThatIsGoneIsADriverNotLoaded) {
  start("a30x2");
  ::setenv("PARTITA_EMULATED_NODE", (root_ / "gone").c_str(), 1);
  const auto opened = try_open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ErrorCode::unavailable);
}

TEST_F(Init, AFailedReopenLeavesAClosedDriverThatSaysSo) {
  auto& driver = open("a30x2");
  fault("nvmlInit_v2", 9);
  EXPECT_FALSE(driver.reopen());
  const auto state = driver.state();
  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().code, ErrorCode::unavailable);
  EXPECT_EQ(driver.gpu("GPU-x").error().code, ErrorCode::unavailable);
  EXPECT_EQ(driver.find_device("MIG-x").error().code, ErrorCode::unavailable);
  EXPECT_TRUE(driver.reopen());
  EXPECT_TRUE(driver.state());
}

}  // namespace
}  // namespace partita::driver
