#include "cli/command_line/help.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/text.h"
#include "cli/command_line/parse.h"

namespace partita::cli {
namespace {

std::string committed(const std::string& path) {
  std::ifstream in(std::string(PARTITA_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// What is committed is what the command prints: "partita man > packaging/man/partita.1" and so on.
TEST(GeneratedTexts, AreCommittedAsTheCommandPrintsThem) {
  EXPECT_EQ(committed("docs/cli.md"), markdown_manual());
  EXPECT_EQ(committed("packaging/man/partita.1"), roff_manual());
  EXPECT_EQ(committed("packaging/completion/partita.bash"), bash_completion());
  EXPECT_EQ(committed("packaging/completion/_partita"), zsh_completion());
  EXPECT_EQ(committed("packaging/completion/partita.fish"), fish_completion());
}

TEST(Help, StaysWithinTheWidth) {
  const Look look{80, false, true, false};
  for (const auto& verb : verbs())
    for (const auto& line : split(verb_help(verb, look), '\n')) EXPECT_LE(width_of(line), 90) << line;
  for (const auto& line : split(overview(look), '\n')) EXPECT_LE(width_of(line), 80) << line;
}

TEST(Help, NamesEveryVerbOptionAndExample) {
  const Look look;
  for (const auto& verb : verbs()) {
    const auto help = verb_help(verb, look);
    for (const auto& option : verb.options) EXPECT_NE(help.find(std::string(key(option))), std::string::npos);
    for (const auto& example : verb.examples) EXPECT_NE(help.find(std::string(example.command)), std::string::npos);
    EXPECT_TRUE(is_subverb(verb) || overview(look).find(std::string(verb.name)) != std::string::npos);
  }
}

// The examples are commands that the parser takes (up to pipes and redirections, which are the shell's).
TEST(Help, ExamplesParse) {
  for (const auto& verb : verbs())
    for (const auto& example : verb.examples) {
      std::string command(example.command.substr(0, example.command.find_first_of("|>")));
      std::erase(command, '"');
      auto words = split(std::string(trim(command)), ' ');
      ASSERT_EQ(words.front(), "partita");
      words.erase(words.begin());
      const auto parsed = parse(words);
      ASSERT_TRUE(parsed) << example.command << ": " << parsed.error().message;
      EXPECT_EQ(parsed->verb, find_verb(verb.name)) << example.command;
    }
}

TEST(Wrapped, BreaksBetweenWords) {
  EXPECT_EQ(wrapped("one two three", 7, 2), "one two\n  three");
  EXPECT_EQ(wrapped("one two", 7, 4, 4), "one\n    two");
  EXPECT_EQ(wrapped("", 7, 2), "");
}

TEST(Printable, LeavesTextAndReplacesControls) {
  EXPECT_EQ(printable("naïve │ ok"), "naïve │ ok");
  EXPECT_EQ(printable("a\tb\x7f\xc2\x9b"
                      "c\xe2\x82"),
            "a?b???c??");
}

}  // namespace
}  // namespace partita::cli
