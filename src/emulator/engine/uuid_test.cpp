#include "emulator/engine/uuid.h"

#include <gtest/gtest.h>

#include <set>

#include "emulator/engine/sha1.h"

namespace partita::emulator {
namespace {

std::string hex(const std::array<std::uint8_t, 20>& digest) {
  std::string text;
  for (const std::uint8_t byte : digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

// FIPS 180 examples, and lengths on both sides of a block's padding.
TEST(Sha1, KnownAnswers) {
  EXPECT_EQ(hex(sha1("")), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(hex(sha1("abc")), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(hex(sha1("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(hex(sha1(std::string(55, 'a'))), "c1c8bbdc22796e28c0e15163d20899b65621d65a");
  EXPECT_EQ(hex(sha1(std::string(56, 'a'))), "c2db330f6083854c99d4b5bfb6e8f29f201be699");
  EXPECT_EQ(hex(sha1(std::string(64, 'a'))), "0098ba824b5c16427bd7a1122a5a442a25ec644d");
  EXPECT_EQ(hex(sha1(std::string(1000000, 'a'))), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
}

TEST(MigUuid, IsVersion5WithTheCommonVariant) {
  for (std::uint32_t gi = 0; gi < 15; ++gi) {
    const std::string text = to_text(mig_uuid(0x170, 0x123456789abcdef0, gi, gi % 8));
    ASSERT_EQ(text.size(), 36u);
    EXPECT_EQ(text[14], '5');
    EXPECT_NE(std::string("89ab").find(text[19]), std::string::npos);
  }
}

// The algorithm of the facts computed by another implementation (Python's hashlib) over the same bytes.
TEST(MigUuid, KnownAnswer) {
  EXPECT_EQ(to_text(mig_uuid(0x170, 0x123456789abcdef0, 9, 2)), "29348c4b-7828-5a73-80f3-b470a54d2adb");
}

TEST(MigUuid, DependsOnEachPart) {
  const std::set<UuidBytes> all{mig_uuid(1, 2, 3, 4), mig_uuid(9, 2, 3, 4), mig_uuid(1, 9, 3, 4), mig_uuid(1, 2, 9, 4),
                                mig_uuid(1, 2, 3, 9)};
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(mig_uuid(1, 2, 3, 4), mig_uuid(1, 2, 3, 4));
}

TEST(Uuid, TextRoundTripAndRefusals) {
  const UuidBytes uuid = mig_uuid(1, 2, 3, 4);
  EXPECT_EQ(parse_uuid(to_text(uuid)), uuid);
  EXPECT_FALSE(parse_uuid(""));
  EXPECT_FALSE(parse_uuid("c7384736-a75d-5afc-978f-d2f1294409f"));
  EXPECT_FALSE(parse_uuid("c7384736-a75d-5afc-978f-d2f1294409fg"));
  EXPECT_FALSE(parse_uuid("c7384736xa75d-5afc-978f-d2f1294409fd"));
}

}  // namespace
}  // namespace partita::emulator
