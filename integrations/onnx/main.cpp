// partita-onnx MODEL.onnx > model.yaml
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <string_view>

#include "base/file.h"
#include "base/text.h"
#include "onnx/convert.h"

namespace {

using namespace partita;
using namespace partita::onnx_import;

constexpr std::string_view kUsage =
    "usage: partita-onnx [--name NAME] [--set DIMENSION=N]... [--partial] MODEL.onnx > workload.yaml\n"
    "\n"
    "Writes the workload file of an ONNX model, which 'partita predict' takes. Weights are not read; they may be "
    "missing.\n"
    "  --name NAME        the workload's name (default: the graph's)\n"
    "  --set DIMENSION=N  the size of a named dimension, such as the sequence length; the batch is always 1\n"
    "  --partial          write the file although operators had to be left out (they are listed)\n";
constexpr std::size_t kLimit = std::size_t{2} << 30;

struct Arguments {
  Options options;
  std::string file;
};

Result<void> add_dimension(std::string_view text, Options& options) {
  const std::size_t equals = text.find('=');
  long long size = 0;
  const std::string_view number = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), size);
  if (equals == 0 || number.empty() || error != std::errc{} || stop != number.data() + number.size() || size < 1 ||
      size > 1'000'000'000)
    return fail(ErrorCode::invalid,
                fmt::format("--set: expected DIMENSION=N with N from 1 to 1000000000, found {}", quote(text)));
  options.dimensions[std::string(text.substr(0, equals))] = size;
  return {};
}

Result<Arguments> parse(int count, char** words) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    if (word == "--partial") {
      out.options.partial = true;
    } else if (word == "--name" || word == "--set") {
      if (++i == count) return fail(ErrorCode::invalid, fmt::format("{}: a value is missing", word));
      if (word == "--name")
        out.options.name = words[i];
      else
        TRY_VOID(add_dimension(words[i], out.options));
    } else if (word.starts_with("--")) {
      return fail(ErrorCode::invalid, fmt::format("unknown option {}{}", quote(word),
                                                  did_you_mean(word, {"--name", "--set", "--partial", "--help"})));
    } else if (!out.file.empty()) {
      return fail(ErrorCode::invalid, "expected one model, found two");
    } else {
      out.file = word;
    }
  }
  if (out.file.empty()) return fail(ErrorCode::invalid, "expected a model: partita-onnx MODEL.onnx");
  return out;
}

Result<Conversion> run(int count, char** words) {
  const Arguments arguments = TRY(parse(count, words));
  const std::string bytes = TRY(read_file(arguments.file, kLimit));
  return convert(bytes, arguments.file, arguments.options);
}

int tell(const Error& error) {
  fmt::print(stderr, "partita-onnx: {}\n", error.message);
  for (const std::string& detail : error.details) fmt::print(stderr, "  {}\n", detail);
  return exit_status(error.code);
}

}  // namespace

int main(int count, char** words) {
  for (int i = 1; i < count; ++i)
    if (std::string_view(words[i]) == "--help" || std::string_view(words[i]) == "-h") {
      fmt::print("{}", kUsage);
      return 0;
    }
  try {
    const auto conversion = run(count, words);
    if (!conversion) return tell(conversion.error());
    for (const std::string& missing : conversion->left_out) fmt::print(stderr, "partita-onnx: left out: {}\n", missing);
    fmt::print("{}", conversion->yaml);
    return std::fflush(stdout) == 0 ? 0 : tell({ErrorCode::unavailable, "standard output: cannot write", {}});
  } catch (const std::exception& error) {
    return tell({ErrorCode::internal, error.what(), {}});
  }
}
