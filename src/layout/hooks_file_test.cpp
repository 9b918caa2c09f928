#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "layout/mig_parted_file.h"

namespace partita::layout {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(HooksFile, ReadsAllHooks) {
  const auto hooks = read_hooks(R"(version: v1
hooks:
  apply-start:
  - workdir: "/etc/nvidia-mig-manager"
    command: "/bin/bash"
    args: ["-x", "-c", "source hooks.sh; apply-start"]
    envs:
      LEVEL: 3
  pre-apply-mode:
  - command: systemctl
    args: [stop, dcgm]
  - command: "true"
  pre-apply-config: []
  apply-exit:
)",
                                "h.yaml");
  ASSERT_TRUE(hooks) << hooks.error().message;
  ASSERT_EQ(hooks->apply_start.size(), 1u);
  EXPECT_EQ(hooks->apply_start[0].workdir, "/etc/nvidia-mig-manager");
  EXPECT_EQ(hooks->apply_start[0].command, "/bin/bash");
  EXPECT_THAT(hooks->apply_start[0].args, ElementsAre("-x", "-c", "source hooks.sh; apply-start"));
  EXPECT_THAT(hooks->apply_start[0].envs, ElementsAre(Pair("LEVEL", "3")));
  EXPECT_EQ(hooks->pre_apply_mode.size(), 2u);
  EXPECT_TRUE(hooks->pre_apply_config.empty());
  EXPECT_TRUE(hooks->apply_exit.empty());
  EXPECT_TRUE(read_hooks("version: v1\nhooks: {}\n", "h"));
}

TEST(HooksFile, RefusesEverythingElse) {
  const auto message = [](std::string_view text) {
    const auto read = read_hooks(text, "h.yaml");
    EXPECT_FALSE(read) << text;
    return read ? "" : read.error().message;
  };
  EXPECT_EQ(message("version: v1\n"), "h.yaml:1: key \"hooks\" is missing");
  EXPECT_EQ(message("version: v2\nhooks: {}\n"), "h.yaml:1: version: expected v1, found \"v2\"");
  EXPECT_EQ(message("version: v1\nhooks:\n  apply-stop: []\n"),
            "h.yaml:3: hooks: unknown key \"apply-stop\"; did you mean apply-start or apply-exit?");
  EXPECT_EQ(message("version: v1\nhooks:\n  apply-exit:\n  - args: [x]\n"),
            "h.yaml:4: hooks.apply-exit[0]: key \"command\" is missing");
  EXPECT_THAT(message("version: v1\nhooks:\n  apply-exit:\n  - command: ''\n"),
              HasSubstr("expected a command, found nothing"));
  EXPECT_THAT(message("version: v1\nhooks:\n  apply-exit:\n  - command: x\n    args: x\n"),
              HasSubstr("args: expected a list, found \"x\""));
  EXPECT_THAT(message("version: v1\nhooks:\n  apply-exit:\n  - command: x\n    args: [[y]]\n"),
              HasSubstr("args[0]: expected text, found a list"));
  EXPECT_THAT(message("version: v1\nhooks:\n  apply-exit:\n  - command: x\n    envs: {\"A=B\": 1}\n"),
              HasSubstr("without \"=\""));
  EXPECT_THAT(message("version: v1\nhooks:\n  apply-exit:\n  - command: \"x\\0y\"\n"),
              HasSubstr("a NUL character is not allowed"));
  EXPECT_THAT(message("version: v1\nhooks:\n  apply-exit:\n  - {command: x, when: now}\n"),
              HasSubstr("unknown key \"when\""));
  EXPECT_THAT(message("version: v1\nhooks:\n  apply-exit: {command: x}\n"),
              HasSubstr("expected a list, found a mapping"));
}

}  // namespace
}  // namespace partita::layout
