#include "base/yaml.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "base/json_to_yaml.h"

namespace partita {
namespace {

using ::testing::HasSubstr;

std::string error_of(std::string_view text, const YamlLimits& limits = {}) {
  const auto read = parse_yaml(text, "f.yaml", limits);
  if (read) return "no error";
  EXPECT_EQ(read.error().code, ErrorCode::invalid);
  return read.error().message;
}

TEST(Yaml, KeepsKindsQuotesLinesAndOrder) {
  const auto read = parse_yaml("b: 1\na: ['x', y]\nn:\nt: ~\nq: ''\nm: {k: |\n   long\n   text\n  }\n", "f");
  ASSERT_FALSE(read) << "block scalar inside a flow mapping";
  const auto good = parse_yaml("b: 1\na: ['x', y]\nn:\nt: ~\nq: ''\nm: |\n  long\n  text\n", "f");
  ASSERT_TRUE(good) << good.error().message;
  const YamlNode& root = good->root;
  ASSERT_EQ(root.kind, YamlNode::Kind::mapping);
  EXPECT_EQ(root.members[0].first, "b");
  EXPECT_EQ(root.members[1].first, "a");
  EXPECT_EQ(root.find("a")->items[0].text, "x");
  EXPECT_TRUE(root.find("a")->items[0].quoted);
  EXPECT_FALSE(root.find("a")->items[1].quoted);
  EXPECT_EQ(root.find("n")->kind, YamlNode::Kind::null);
  EXPECT_EQ(root.find("t")->kind, YamlNode::Kind::null);
  EXPECT_EQ(root.find("q")->kind, YamlNode::Kind::scalar);
  EXPECT_EQ(root.find("q")->line, 5);
  EXPECT_EQ(root.find("m")->text, "long\ntext\n");
  EXPECT_EQ(root.find("z"), nullptr);
}

TEST(Yaml, ReadsJsonBomAndEmptyText) {
  EXPECT_EQ(parse_yaml(R"({"a": {"b": [1, 2]}})", "f")->root.find("a")->find("b")->items.size(), 2u);
  EXPECT_EQ(parse_yaml("\xEF\xBB\xBF"
                       "a: 1",
                       "f")
                ->root.find("a")
                ->text,
            "1");
  EXPECT_EQ(parse_yaml("", "f")->root.kind, YamlNode::Kind::null);
  EXPECT_EQ(parse_yaml("# nothing\n", "f")->root.kind, YamlNode::Kind::null);
  EXPECT_EQ(parse_yaml("--- \na: ü\n...\n", "f")->root.find("a")->text, "ü");
}

TEST(Yaml, RefusesWhatIsNotPlainData) {
  EXPECT_EQ(error_of("a: &x 1\nb: *x\n"),
            "f.yaml:1: an anchor (&name) is not allowed here: write the value out where it is used");
  EXPECT_THAT(error_of("a: 1\nb: *x\n"),
              HasSubstr("f.yaml:2: an alias (*name) is not allowed here: write the value out"));
  EXPECT_THAT(error_of("a: !!str 1\n"), HasSubstr("f.yaml:1: a tag (!name)"));
  EXPECT_THAT(error_of("a: !!python/object:os.system x\n"), HasSubstr("a tag"));
  EXPECT_THAT(error_of("%TAG ! tag:x,2000:\n--- \na: 1\n"), HasSubstr("a %TAG directive"));
  EXPECT_THAT(error_of("a: 1\n---\nb: 2\n"), HasSubstr("f.yaml:2: a second document"));
  EXPECT_THAT(error_of("<<: {a: 1}\n"), HasSubstr("a merge key"));
  EXPECT_THAT(error_of("? [a, b]\n: 1\n"), HasSubstr("a list or mapping as a key"));
  EXPECT_THAT(error_of("a: [1, 2\nb: 3\n"), HasSubstr("f.yaml:2: not valid YAML"));
  EXPECT_THAT(error_of("a: 1\n\tb: 2\n"), HasSubstr("f.yaml:2: not valid YAML"));
}

TEST(Yaml, RefusesDuplicateKeysInSmallAndLargeMappings) {
  EXPECT_EQ(error_of("a: 1\nb: 2\n\"a\": 3\n"), "f.yaml:3: key \"a\" is given twice (first on line 1)");
  for (const int before : {14, 15, 16, 17, 100}) {
    std::string text;
    for (int i = 0; i < before; ++i) text += fmt::format("k{}: 1\n", i);
    EXPECT_EQ(error_of(text + "k3: 2\n"),
              fmt::format("f.yaml:{}: key \"k3\" is given twice (first on line 4)", before + 1));
    EXPECT_TRUE(parse_yaml(text + "other: 2\n", "f"));
    EXPECT_EQ(error_of(text + "other: 2\nother: 3\n"),
              fmt::format("f.yaml:{0}: key \"other\" is given twice (first on line {1})", before + 2, before + 1));
  }
}

TEST(Yaml, RefusesTextThatIsNotUtf8) {
  for (const auto* bad :
       {"\x80", "\xC0\xAF", "\xC3", "\xE0\x80\x80", "\xED\xA0\x80", "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80",
        "\xFF\xFE"
        "a"})
    EXPECT_EQ(error_of(std::string("a: 1\nb: ") + bad), "f.yaml:2: not UTF-8 text");
  EXPECT_TRUE(parse_yaml("a: \xF0\x9F\x8E\xBB", "f"));
  EXPECT_THAT(error_of(std::string_view("a: \0b", 5)), HasSubstr("not valid YAML"));
}

TEST(Yaml, KeepsItsLimits) {
  EXPECT_EQ(error_of(std::string(100, '['), {.max_depth = 64}), "f.yaml:1: nested deeper than 64 levels");
  EXPECT_THAT(error_of("[1, 2, 3]", {.max_nodes = 3}), HasSubstr("more than 3 values"));
  EXPECT_TRUE(parse_yaml("[1, 2, 3]", "f", {.max_nodes = 4}));
  EXPECT_THAT(error_of(std::string(3 << 20, ' '), {.max_bytes = 2 << 20}), HasSubstr("larger than 2 MiB"));
}

// Hostile texts end soon: depth, many keys, one very long line.
TEST(Yaml, HostileTextsAreRefusedSoon) {
  const auto begin = std::chrono::steady_clock::now();
  error_of(std::string(1 << 20, '['));
  error_of(std::string(1 << 20, '{'));
  error_of(std::string(1 << 20, '-'));
  std::string dashes;
  for (int i = 0; i < 1 << 18; ++i) dashes += "- ";
  error_of(dashes);
  std::string keys;
  for (int i = 0; i < 200'000; ++i) keys += fmt::format("k{}: 1\n", i);
  EXPECT_TRUE(parse_yaml(keys, "f"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(YamlValues, AreCheckedAndErrorsNameThePlace) {
  const auto document = parse_yaml(
      "i: 12\nbig: 99999999999999999999\nt: \"12\"\nb: true\ny: yes\nf: 1.5\nl: [a]\nm: {}\nn:\no: 010\n"
      "minus: -07\nzero: 0\n",
      "f.yaml");
  ASSERT_TRUE(document);
  const YamlPlace root{&*document, ""};
  const auto at = [&](const char* key) -> const YamlNode& { return *document->root.find(key); };
  EXPECT_EQ(as_integer(root.at("i"), at("i"), 0, 20), 12);
  EXPECT_EQ(as_integer(root.at("i"), at("i"), 0, 11).error().message,
            "f.yaml:1: i: expected a whole number from 0 to 11, found \"12\"");
  EXPECT_FALSE(as_integer(root, at("big"), 0, INT64_MAX));
  EXPECT_EQ(as_integer(root.at("t"), at("t"), 0, 20).error().message,
            "f.yaml:3: t: expected a whole number from 0 to 20, found the text \"12\"");
  EXPECT_FALSE(as_integer(root, at("f"), 0, 20));
  EXPECT_EQ(as_integer(root.at("o"), at("o"), 0, 20).error().message,
            "f.yaml:10: o: expected a whole number from 0 to 20 without leading zeros, found \"010\"");
  EXPECT_FALSE(as_integer(root, at("minus"), -20, 20));
  EXPECT_EQ(as_integer(root, at("zero"), 0, 20), 0);
  EXPECT_EQ(as_number(root, at("f")), 1.5);
  EXPECT_EQ(as_number(root, at("i")), 12);
  EXPECT_EQ(as_bool(root, at("b")), true);
  EXPECT_EQ(as_bool(root.at("y"), at("y")).error().message, "f.yaml:5: y: expected true or false, found \"yes\"");
  EXPECT_EQ(as_text(root, at("t")), "12");
  EXPECT_EQ(as_text(root, at("i")), "12");
  EXPECT_EQ(as_text(root.at("l").at(0), at("l")).error().message, "f.yaml:7: l[0]: expected text, found a list");
  EXPECT_EQ((*as_sequence(root, at("l")))->size(), 1u);
  EXPECT_EQ(as_sequence(root, at("n")).error().message, "f.yaml:9: expected a list, found nothing");
  EXPECT_TRUE(as_mapping(root, at("m")));
  EXPECT_FALSE(as_mapping(root, at("n")));
}

TEST(YamlValues, KeysAreChecked) {
  const auto document = parse_yaml("devices: 1\nmig-enable: true\n", "f.yaml");
  const YamlPlace root{&*document, ""};
  constexpr std::string_view kNeeded[] = {"devices"};
  constexpr std::string_view kOthers[] = {"mig-enabled"};
  EXPECT_EQ(require_keys(root, document->root, kNeeded, kOthers).error().message,
            "f.yaml:2: unknown key \"mig-enable\"; did you mean mig-enabled?");
  constexpr std::string_view kMore[] = {"devices", "mig-enable", "gone"};
  EXPECT_EQ(require_keys(root, document->root, kMore, {}).error().message, "f.yaml:1: key \"gone\" is missing");
  constexpr std::string_view kAll[] = {"devices", "mig-enable"};
  EXPECT_TRUE(require_keys(root, document->root, kAll, {}));
}

TEST(JsonToYaml, KeepsOrderAndReadsBackEqual) {
  EXPECT_EQ(
      *json_to_yaml(R"({"z": 1, "a": {"list": [1, 2], "empty": [], "none": null, "t": true, "f": 1.5}, "m": {}})"),
      "z: 1\na:\n  list: [1, 2]\n  empty: []\n  none: null\n  t: true\n  f: 1.5\nm: {}\n");
  EXPECT_EQ(*json_to_yaml(R"([{"a": "3g.20gb"}, "x"])"), "- a: 3g.20gb\n- x\n");
  EXPECT_FALSE(json_to_yaml("{"));
}

TEST(JsonToYaml, TextStaysText) {
  for (const auto* word :
       {"no",         "True", "1",    "0x20B0", "0xc0", "1e3", "",      "~", "- a", "a: b",      "# c",
        "2026-11-30", "1:30", "NULL", "y",      ".inf", "<<",  "a\\nb", "ü", "'",   "1g.5gb+me", "GPU-1"}) {
    const auto yaml = json_to_yaml(fmt::format("{{\"k\": \"{}\"}}", word));
    ASSERT_TRUE(yaml);
    const auto back = parse_yaml(*yaml, "f");
    ASSERT_TRUE(back) << *yaml;
    const YamlNode& node = *back->root.find("k");
    EXPECT_EQ(node.kind, YamlNode::Kind::scalar) << *yaml;
    EXPECT_EQ(node.text, std::string(word) == "a\\nb" ? "a\nb" : word) << *yaml;
    EXPECT_FALSE(as_bool({}, node)) << *yaml;
    EXPECT_FALSE(as_integer({}, node, 0, 1000)) << *yaml;
  }
}

}  // namespace
}  // namespace partita
