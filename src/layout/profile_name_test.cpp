#include "layout/profile_name.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "base/text.h"
#include "layout/test_node.h"

namespace partita::layout {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Every board's names, copied here so that data and code are compared with a third opinion.
struct BoardNames {
  const char* boards;
  const char* names;
};
constexpr BoardNames kNames[] = {
    {"a100-sxm4-40gb a100-pcie-40gb a800-40gb", "1g.5gb 1g.5gb+me 1g.10gb 2g.10gb 3g.20gb 4g.20gb 7g.40gb"},
    {"a100-sxm4-80gb a100-pcie-80gb a800-80gb h100-sxm5-80gb h100-pcie-80gb",
     "1g.10gb 1g.10gb+me 1g.20gb 2g.20gb 3g.40gb 4g.40gb 7g.80gb"},
    {"a30-24gb", "1g.6gb 1g.6gb+me 2g.12gb 2g.12gb+me 4g.24gb"},
    {"h100-nvl-94gb h100-sxm5-94gb", "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.47gb 4g.47gb 7g.94gb"},
    {"gh200-96gb h100-sxm5-96gb h20-96gb", "1g.12gb 1g.12gb+me 1g.24gb 2g.24gb 3g.48gb 4g.48gb 7g.96gb"},
    {"gh200-144gb", "1g.18gb 1g.18gb+me 1g.36gb 2g.36gb 3g.72gb 4g.72gb 7g.144gb"},
    {"h200-sxm-141gb h200-nvl-141gb h20-3e-141gb", "1g.18gb 1g.18gb+me 1g.35gb 2g.35gb 3g.71gb 4g.71gb 7g.141gb"},
    {"b200-180gb", "1g.23gb 1g.23gb+me 1g.45gb 2g.45gb 3g.90gb 4g.90gb 7g.180gb"},
    {"gb200-186gb", "1g.23gb 1g.23gb+me 1g.47gb 2g.47gb 3g.93gb 4g.93gb 7g.186gb"},
    {"b300-288gb", "1g.34gb 1g.34gb+me 1g.67gb 2g.67gb 3g.135gb 4g.135gb 7g.269gb"},
    {"gb300-278gb", "1g.35gb 1g.35gb+me 1g.70gb 2g.70gb 3g.139gb 4g.139gb 7g.278gb"},
    {"rtx-pro-6000-server rtx-pro-6000-ws rtx-pro-6000-maxq",
     "1g.24gb 1g.24gb+me 1g.24gb+gfx 1g.24gb+me.all 1g.24gb-me 2g.48gb 2g.48gb+gfx 2g.48gb+me.all 2g.48gb-me 4g.96gb "
     "4g.96gb+gfx"},
    {"rtx-pro-5000", "1g.24gb 1g.24gb+me 1g.24gb+gfx 1g.24gb+me.all 1g.24gb-me 2g.48gb 2g.48gb+gfx"},
    {"rtx-pro-4500", "1g.16gb 1g.16gb+gfx 1g.16gb+me.all 1g.16gb-me 2g.32gb 2g.32gb+gfx"},
    {"rtx-6000d", "1g.42gb 2g.84gb"},
};

template <class Check>
void for_each_board(Check check) {
  for (const auto& [boards, names] : kNames)
    for (const auto& id : split(boards, ' ')) {
      SCOPED_TRACE(id);
      check(*test::board(id), split(names, ' '));
    }
}

TEST(ProfileName, EveryBoardHasItsNamesAndFindsThem) {
  std::size_t boards = 0;
  for_each_board([&](const catalog::Board& board, const std::vector<std::string>& names) {
    ++boards;
    ASSERT_EQ(board.profiles.size(), names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      EXPECT_EQ(board.profiles[i].name, names[i]);
      const auto match = find_profile(board, names[i]);
      ASSERT_TRUE(match) << names[i];
      EXPECT_EQ(match->profile, static_cast<int>(i)) << names[i];
      EXPECT_TRUE(board.profiles[i].compute[static_cast<std::size_t>(match->compute)].is_default);
      EXPECT_EQ(match->spelled_here, std::nullopt);
      EXPECT_EQ(to_string(*parse_profile_name(names[i])), names[i]);
    }
  });
  EXPECT_EQ(boards, 28u);
}

TEST(ProfileName, GbIsComputedAsTheDriverPrintsIt) {
  int checked = 0;
  for_each_board([&](const catalog::Board& board, const std::vector<std::string>&) {
    for (const auto& profile : board.profiles) {
      if (!profile.memory || !board.total_memory) continue;
      EXPECT_EQ(name_gb(*profile.memory, *board.total_memory), parse_profile_name(profile.name)->gb) << profile.name;
      ++checked;
    }
  });
  EXPECT_GT(checked, 100);
  EXPECT_EQ(name_gb(mib(4864), mib(40536)), 5) << "older drivers' total";
  EXPECT_EQ(name_gb(mib(100), Bytes{0}), 0);
}

TEST(ProfileName, ComputeInstanceNamesAreFoundOnEveryBoard) {
  for_each_board([&](const catalog::Board& board, const std::vector<std::string>&) {
    for (std::size_t i = 0; i < board.profiles.size(); ++i)
      for (std::size_t c = 0; c < board.profiles[i].compute.size(); ++c) {
        const auto& row = board.profiles[i].compute[c];
        const auto match = find_profile(board, row.name);
        ASSERT_TRUE(match) << row.name;
        EXPECT_EQ(match->profile, static_cast<int>(i)) << row.name;
        EXPECT_EQ(match->compute, static_cast<int>(c)) << row.name;
      }
  });
}

TEST(ProfileName, ReadsTheWholeGrammar) {
  const auto name = *parse_profile_name("1c.3g.20gb");
  EXPECT_EQ(name.compute_slices_of_ci, 1);
  EXPECT_EQ(name.compute_slices, 3);
  EXPECT_EQ(name.gb, 20);
  const auto same = [](std::string_view a, std::string_view b) {
    ASSERT_TRUE(parse_profile_name(a)) << a;
    EXPECT_EQ(*parse_profile_name(a), *parse_profile_name(b)) << a;
  };
  same("1g.24gb.me.all", "1g.24gb+me.all");
  same("1g.24gb.gfx", "1g.24gb+gfx");
  same("1g.24gb+me,gfx", "1g.24gb+me+gfx");
  same("1g.24gb+gfx,me.all", "1g.24gb+me.all,gfx");
  EXPECT_TRUE(parse_profile_name("1g.24gb-me")->attributes.no_me);
  EXPECT_EQ(to_string(*parse_profile_name("3c.3g.20gb")), "3g.20gb");
  EXPECT_EQ(to_string(*parse_profile_name("2c.4g.96gb+gfx,me.all")), "2c.4g.96gb+me.all,gfx");
}

TEST(ProfileName, RefusesEverythingElse) {
  for (const auto* bad : {"",
                          "3g",
                          "3g.20",
                          "3g.20gb+",
                          "3g.20gb-",
                          "3g.20gb+you",
                          "3g.20gb+me-me",
                          "3g.20gb-me+gfx",
                          "3g.20gb+me,me",
                          "0g.5gb",
                          "03g.20gb",
                          "3g.020gb",
                          "-1g.5gb",
                          "1g.5gb ",
                          " 1g.5gb",
                          "1G.5GB",
                          "1c3g.20gb",
                          "c.3g.20gb",
                          "1g.999999999999gb",
                          "1g.5gb+me+",
                          "mig-1g.5gb",
                          "3g.20gb-gfx"}) {
    const auto read = parse_profile_name(bad);
    ASSERT_FALSE(read) << bad;
    EXPECT_EQ(read.error().code, ErrorCode::invalid);
    EXPECT_THAT(read.error().message, HasSubstr("is no profile name: expected one like 3g.20gb"));
  }
}

TEST(ProfileName, WritingThenReadingIsTheIdentity) {
  EXPECT_TRUE(rc::check("parse(to_string(name)) == name", [] {
    ProfileName name;
    name.compute_slices = *rc::gen::inRange(1, 100);
    name.gb = *rc::gen::inRange(1, 1000);
    const int c = *rc::gen::inRange(0, 100);
    if (c != 0 && c != name.compute_slices) name.compute_slices_of_ci = c;
    name.attributes.no_me = *rc::gen::arbitrary<bool>();
    if (!name.attributes.no_me) {
      name.attributes.me = *rc::gen::arbitrary<bool>();
      name.attributes.me_all = *rc::gen::arbitrary<bool>();
      name.attributes.gfx = *rc::gen::arbitrary<bool>();
    }
    RC_ASSERT(parse_profile_name(to_string(name)).value() == name);
  }));
}

// A 40 GB name on the 80 GB board is a mistake, never a smaller or larger profile by luck.
TEST(FindProfile, NamesOfAnotherBoardAreErrorsWithTheNearestName) {
  const auto a100_80 = test::board("a100-sxm4-80gb");
  const auto wrong = find_profile(*a100_80, "1g.5gb");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ErrorCode::not_found);
  EXPECT_THAT(wrong.error().message, HasSubstr("no profile \"1g.5gb\" on a100-sxm4-80gb (NVIDIA A100-SXM4-80GB)"));
  EXPECT_THAT(wrong.error().message, HasSubstr("; did you mean 1g.10gb?"));
  EXPECT_THAT(find_profile(*a100_80, "7g.40gb").error().message, HasSubstr("did you mean 7g.80gb?"));
  EXPECT_THAT(find_profile(*a100_80, "5g.40gb").error().message, HasSubstr("did you mean 3g.40gb"));
  EXPECT_FALSE(find_profile(*a100_80, "1g.10gb+gfx"));
  EXPECT_FALSE(find_profile(*a100_80, "1g.20gb+me")) << "the +me profile has one memory slice";
  EXPECT_FALSE(find_profile(*a100_80, "3g.20gb"));
  EXPECT_EQ(find_profile(*a100_80, "lots").error().code, ErrorCode::invalid);
  EXPECT_THAT(find_profile(*test::board("gb10"), "1g.5gb").error().message, HasSubstr("has no MIG"));
}

TEST(FindProfile, OneMemorySliceAndTwoStayApart) {
  const auto a40 = test::board("a100-sxm4-40gb"), a80 = test::board("a100-sxm4-80gb");
  EXPECT_EQ(a40->profiles[static_cast<std::size_t>(find_profile(*a40, "1g.10gb")->profile)].memory_slices, 2);
  EXPECT_EQ(a80->profiles[static_cast<std::size_t>(find_profile(*a80, "1g.10gb")->profile)].memory_slices, 1);
  EXPECT_EQ(a80->profiles[static_cast<std::size_t>(find_profile(*a80, "1g.20gb")->profile)].memory_slices, 2);
}

TEST(FindProfile, NamesThatDriftWithTheDriverAreAccepted) {
  const auto accepts = [](const char* id, std::string_view text, std::string_view here) {
    const auto board = test::board(id);
    const auto match = find_profile(*board, text);
    ASSERT_TRUE(match) << text;
    EXPECT_EQ(match->spelled_here, here) << text;
  };
  accepts("a100-sxm4-40gb", "3g.21gb", "3g.20gb");
  accepts("a100-sxm4-80gb", "7g.79gb", "7g.80gb");
  accepts("gb200-186gb", "1g.24gb", "1g.23gb");
  accepts("gb200-186gb", "1g.24gb+me", "1g.23gb+me");
  accepts("gb200-186gb", "3g.95gb", "3g.93gb");
  accepts("gb200-186gb", "7g.189gb", "7g.186gb");
  accepts("a100-sxm4-40gb", "1c.3g.21gb", "1c.3g.20gb");
  accepts("rtx-pro-6000-server", "1g.24gb.me.all", "1g.24gb+me.all");
  accepts("rtx-pro-6000-server", "1g.23gb-me", "1g.24gb-me");
  accepts("a100-sxm4-40gb", "3c.3g.20gb", "3g.20gb");
}

// The other way round: a driver that prints 1g.24gb, a file that says 1g.23gb.
TEST(FindProfile, TheDriversSpellingIsNamed) {
  catalog::Board driver = *test::board("gb200-186gb");
  driver.profiles[0].name = driver.profiles[0].compute[0].name = "1g.24gb";
  const auto match = find_profile(driver, "1g.23gb");
  ASSERT_TRUE(match);
  EXPECT_EQ(match->profile, 0);
  EXPECT_EQ(match->spelled_here, "1g.24gb");
}

// Driver 61x prints 1g.31gb, farther from the catalog's 1g.35gb than a name may drift.
TEST(FindProfile, TheCatalogsSpellingIsKnownOnEachDriver) {
  catalog::Board driver = *test::board("gb300-278gb");
  auto& profile = driver.profiles[static_cast<std::size_t>(test::profile(driver, "3g.139gb"))];
  profile.catalog_name = std::exchange(profile.name, "3g.126gb");
  for (auto& compute : profile.compute) compute.name.replace(compute.name.size() - 8, 8, "3g.126gb");
  const auto whole = find_profile(driver, "3g.139gb"), part = find_profile(driver, "1c.3g.139gb");
  ASSERT_TRUE(whole && part);
  EXPECT_EQ(whole->profile, test::profile(driver, "3g.126gb"));
  EXPECT_EQ(whole->spelled_here, "3g.126gb");
  EXPECT_EQ(part->profile, whole->profile);
  EXPECT_EQ(part->spelled_here, "1c.3g.126gb");
}

TEST(FindProfile, ComputeInstancesThatAGpuInstanceLacks) {
  const auto a100 = test::board("a100-sxm4-40gb");
  EXPECT_EQ(find_profile(*a100, "3c.4g.20gb").error().message,
            "no compute instance of 3 slices in 4g.20gb on a100-sxm4-40gb (NVIDIA A100-SXM4-40GB); it has "
            "1c.4g.20gb, 2c.4g.20gb, 4g.20gb");
  EXPECT_FALSE(find_profile(*a100, "4c.3g.20gb"));
  EXPECT_THAT(find_profile(*a100, "1c.3g.40gb").error().message, HasSubstr("did you mean 3g.20gb?"));
}

// Whatever is accepted names a profile of the asked slices and attributes.
TEST(FindProfile, NeverFindsOtherSlicesOrAttributes) {
  for_each_board([&](const catalog::Board& board, const std::vector<std::string>&) {
    for (const auto* attributes : {"", "+me", "+gfx", "+me.all", "-me"})
      for (int g = 1; g <= 8; ++g)
        for (int gb = 1; gb < 300; gb += gb < 50 ? 1 : 3) {
          const auto text = fmt::format("{}g.{}gb{}", g, gb, attributes);
          const auto match = find_profile(board, text);
          if (!match) continue;
          const auto& found = board.profiles[static_cast<std::size_t>(match->profile)];
          EXPECT_EQ(found.compute_slices, g) << text;
          EXPECT_EQ(found.attributes, parse_profile_name(text)->attributes) << text;
          const int here = parse_profile_name(found.name)->gb;
          EXPECT_LE(std::abs(here - gb) * 100, std::max(100, here * 6)) << text;
        }
  });
}

}  // namespace
}  // namespace partita::layout
