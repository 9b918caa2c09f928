#include "catalog/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "base/file.h"
#include "base/text.h"
#include "base/yaml.h"
#include "catalog/board_file.h"
#include "catalog/embedded.h"
#include "catalog/fields.h"

namespace partita::catalog {

struct Catalog::Impl {
  std::vector<BoardEntry> entries;
  std::map<std::string, std::shared_ptr<const Board>, std::less<>> read;  // overrides, and those asked for so far
};

namespace {

Result<std::vector<BoardEntry>> read_index() {
  constexpr std::string_view kPath = "boards/index.yaml";
  constexpr std::string_view kKeys[] = {"boards"};
  constexpr std::string_view kRowKeys[] = {"id", "product", "pci_devices"};
  const auto text = embedded_file(kPath);
  if (!text) return fail(ErrorCode::internal, "boards/index.yaml is not part of this program");
  const YamlDocument document = TRY(parse_yaml(*text, std::string(kPath)));
  const Fields fields({&document, ""}, document.root);
  TRY_VOID(fields.only(kKeys, {}));
  std::vector<BoardEntry> out;
  for (const Fields& row : TRY(fields.rows("boards", kRowKeys, {})))
    out.push_back({TRY(row.text("id")), TRY(row.text("product")), TRY(read_pci_devices(row))});
  return out;
}

// The *.yaml files of DIR/boards, sorted, index.yaml left out.
Result<std::vector<std::filesystem::path>> override_files(const std::filesystem::path& data_dir) {
  const auto folder = data_dir / "boards";
  std::error_code error;
  std::filesystem::directory_iterator files(folder, error);
  if (error)
    return fail(error == std::errc::permission_denied ? ErrorCode::denied : ErrorCode::not_found,
                fmt::format("data folder {}: cannot list {}: {}; expected boards/*.yaml in it", data_dir.string(),
                            folder.string(), error.message()));
  std::vector<std::filesystem::path> out;
  for (; files != std::filesystem::directory_iterator(); files.increment(error)) {
    if (error) break;
    if (files->path().extension() == ".yaml" && files->path().filename() != "index.yaml") out.push_back(files->path());
  }
  if (error) return fail(ErrorCode::unavailable, fmt::format("cannot list {}: {}", folder.string(), error.message()));
  std::ranges::sort(out);
  return out;
}

bool has_device(const BoardEntry& entry, std::uint16_t device) {
  return std::ranges::find(entry.pci_devices, device) != entry.pci_devices.end();
}

BoardEntry entry_of(const Board& board) { return {board.id, board.product, board.pci_devices}; }

// The board file's place in the list; a device id that it claims is taken from the boards that had it.
void put_entry(std::vector<BoardEntry>& entries, BoardEntry entry) {
  std::erase_if(entries, [&](const BoardEntry& other) { return other.id == entry.id; });
  for (BoardEntry& other : entries)
    std::erase_if(other.pci_devices, [&](std::uint16_t device) { return has_device(entry, device); });
  const auto place = std::ranges::upper_bound(entries, entry.id, {}, &BoardEntry::id);
  entries.insert(place, std::move(entry));
}

}  // namespace

Catalog::Catalog(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Catalog::Catalog(Catalog&&) noexcept = default;
Catalog& Catalog::operator=(Catalog&&) noexcept = default;
Catalog::~Catalog() = default;

Result<Catalog> Catalog::open(const std::optional<std::filesystem::path>& data_dir) {
  auto impl = std::make_unique<Impl>();
  impl->entries = TRY(read_index());
  std::ranges::sort(impl->entries, {}, &BoardEntry::id);
  if (!data_dir) return Catalog(std::move(impl));
  for (const auto& path : TRY(override_files(*data_dir))) {
    const std::string text = TRY(read_file(path));
    auto board = std::make_shared<const Board>(TRY(read_board(text, path.string())));
    if (path.stem() != board->id)
      return fail(ErrorCode::invalid, fmt::format("{}: id: expected {}, the file's name, found {}", path.string(),
                                                  quote(path.stem().string()), quote(board->id)));
    put_entry(impl->entries, entry_of(*board));
    impl->read[board->id] = std::move(board);
  }
  return Catalog(std::move(impl));
}

const std::vector<BoardEntry>& Catalog::boards() const { return impl_->entries; }

Result<std::shared_ptr<const Board>> Catalog::board(std::string_view id) {
  if (const auto known = impl_->read.find(id); known != impl_->read.end()) return known->second;
  if (std::ranges::find(impl_->entries, id, &BoardEntry::id) == impl_->entries.end()) {
    std::vector<std::string> ids;
    for (const BoardEntry& entry : impl_->entries) ids.push_back(entry.id);
    const std::string hint = did_you_mean(id, ids);
    return fail(ErrorCode::not_found,
                fmt::format("no board {}{}", quote(id), hint.empty() ? "; known are: " + join(ids, ", ") : hint));
  }
  const std::string path = fmt::format("boards/{}.yaml", id);
  const auto text = embedded_file(path);
  if (!text) return fail(ErrorCode::internal, path + " is in the index but not part of this program");
  auto board = std::make_shared<const Board>(TRY(read_board(*text, path)));
  impl_->read[std::string(id)] = board;
  return board;
}

Result<std::shared_ptr<const Board>> Catalog::board_by_pci(std::uint16_t device) {
  for (const BoardEntry& entry : impl_->entries)
    if (has_device(entry, device)) return board(entry.id);
  return std::shared_ptr<const Board>();
}

}  // namespace partita::catalog
