#include "base/file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <string_view>
#include <thread>

namespace partita {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string pattern = (fs::temp_directory_path() / "partita-file-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FileTest() override { fs::remove_all(folder_); }
  fs::path at(const char* name) const { return folder_ / name; }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(FileTest, WrittenTextIsReadAgain) {
  ASSERT_TRUE(write_file_atomically(at("a"), "one"));
  ASSERT_TRUE(write_file_atomically(at("a"), "two"));
  EXPECT_EQ(read_file(at("a")), "two");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, ASymbolicLinkStaysAndWhatItNamesIsReplaced) {
  std::ofstream(at("file")) << "old";
  fs::create_symlink("file", at("link"));
  ASSERT_TRUE(write_file_atomically(at("link"), "new"));
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(text_of(at("file")), "new");
  EXPECT_EQ(entries(), 2u);
}

TEST_F(FileTest, APipeIsWrittenToAndStaysAPipe) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::string got;
  const int reader = ::open(at("pipe").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_TRUE(write_file_atomically(at("pipe"), "through"));
  char buffer[16];
  const ssize_t n = ::read(reader, buffer, sizeof buffer);
  ::close(reader);
  EXPECT_EQ(std::string_view(buffer, n > 0 ? static_cast<std::size_t>(n) : 0), "through");
  EXPECT_TRUE(fs::is_fifo(at("pipe")));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, ADeviceThatTakesNothingIsAnErrorAndStays) {
  fs::create_symlink("/dev/full", at("full"));  // so that a fault here cannot harm the machine
  const auto written = write_file_atomically(at("full"), "text");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ErrorCode::unavailable);
  EXPECT_TRUE(fs::is_symlink(at("full")));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, APipeWithoutReaderAndAFolderAreErrorsAndLeaveNothingBehind) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(write_file_atomically(at("pipe"), "text"));
  const auto folder = write_file_atomically(folder_, "text");
  ASSERT_FALSE(folder);
  EXPECT_THAT(folder.error().message, HasSubstr("Is a directory"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(FileTest, APipeIsReadThoughItsWriterComesLater) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  Result<std::string> read;
  {
    const std::jthread reader([&] { read = read_file(at("pipe")); });
    const int writer = ::open(at("pipe").c_str(), O_WRONLY | O_CLOEXEC);  // returns when the reader has opened it
    EXPECT_EQ(::write(writer, "late", 4), 4);
    ::close(writer);
  }
  EXPECT_EQ(read, "late");
}

TEST_F(FileTest, WhetherAFileCanBeWrittenIsKnownBeforehand) {
  EXPECT_TRUE(can_write_file(at("new")));
  EXPECT_FALSE(std::filesystem::exists(at("new"))) << "nothing is written";
  std::ofstream(at("old")) << "old";
  EXPECT_TRUE(can_write_file(at("old")));
  EXPECT_TRUE(can_write_file("/dev/null"));
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  EXPECT_TRUE(can_write_file("/dev/fd/" + std::to_string(ends[1]))) << "a pipe has no path of its own";
  for (const int end : ends) ::close(end);
  EXPECT_EQ(can_write_file(at("nowhere/x")).error().message,
            write_file_atomically(at("nowhere/x"), "").error().message);
  EXPECT_EQ(can_write_file(folder_).error().message, write_file_atomically(folder_, "").error().message);
  EXPECT_EQ(can_write_file(at("old/x")).error().message, write_file_atomically(at("old/x"), "").error().message);
}

TEST_F(FileTest, FoldersDevicesAndMissingFilesAreRefused) {
  EXPECT_EQ(read_file(folder_).error().code, ErrorCode::invalid);
  EXPECT_EQ(read_file("/dev/zero").error().code, ErrorCode::invalid);
  EXPECT_EQ(read_file(at("none")).error().code, ErrorCode::not_found);
  EXPECT_EQ(read_file("").error().message, "cannot read \"\": No such file or directory");
  std::ofstream(at("large")) << std::string(2u << 20, 'x');
  EXPECT_THAT(read_file(at("large"), 1u << 20).error().message, HasSubstr("is larger than 1 MiB"));
}

}  // namespace
}  // namespace partita
