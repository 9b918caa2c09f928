#include "driver/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace partita::driver {
namespace {

using testing::HasSubstr;

TEST(NvmlError, SaysObjectFunctionNameAndNumber) {
  const auto error = nvml_error(19, "nvmlGpuInstanceDestroy", "GPU 3 (00000000:47:00.0) GPU instance 2");
  EXPECT_EQ(error.code, ErrorCode::busy);
  EXPECT_THAT(error.message, HasSubstr("GPU 3 (00000000:47:00.0) GPU instance 2: nvmlGpuInstanceDestroy answered "
                                       "NVML_ERROR_IN_USE (19): "));
}

TEST(NvmlError, MapsReturnsToCodes) {
  EXPECT_EQ(nvml_error(23, "f", "").code, ErrorCode::no_space);
  EXPECT_EQ(nvml_error(4, "f", "").code, ErrorCode::denied);
  EXPECT_EQ(nvml_error(15, "f", "").code, ErrorCode::driver);
  EXPECT_EQ(nvml_error(999, "f", "").code, ErrorCode::driver);
}

TEST(NvmlError, KeepsNumbersWithoutAName) {
  EXPECT_EQ(nvml_return_text(77), "NVML_ERROR (77)");
  EXPECT_EQ(nvml_error(77, "f", "").message, "f answered NVML_ERROR (77)");
}

TEST(InitError, EachHasItsOwnAdvice) {
  const auto not_loaded = init_error(9, "nvmlInit_v2");
  EXPECT_EQ(not_loaded.code, ErrorCode::unavailable);
  EXPECT_THAT(not_loaded.message, HasSubstr("modprobe nvidia"));
  EXPECT_THAT(not_loaded.message, HasSubstr("nvmlInit_v2 answered NVML_ERROR_DRIVER_NOT_LOADED (9)"));
  EXPECT_THAT(init_error(18, "f").message, HasSubstr("different versions"));
  EXPECT_EQ(init_error(4, "f").code, ErrorCode::denied);
  EXPECT_THAT(init_error(4, "f").message, HasSubstr("/dev/nvidiactl"));
  EXPECT_THAT(init_error(15, "f").message, HasSubstr("lost"));
  EXPECT_THAT(init_error(77, "f").message, HasSubstr("NVML_ERROR (77)"));
}

}  // namespace
}  // namespace partita::driver
