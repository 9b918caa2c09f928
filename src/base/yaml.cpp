// The tree, built from libyaml's events; values are checked in yaml_values.cpp.
#include "base/yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"

namespace partita {

namespace {

class Parser {
 public:
  Parser() { yaml_parser_initialize(&parser_); }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser() { yaml_parser_delete(&parser_); }
  yaml_parser_t* get() { return &parser_; }

 private:
  yaml_parser_t parser_{};
};

class Event {
 public:
  Event() = default;
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
  ~Event() { yaml_event_delete(&event); }
  yaml_event_t event{};
};

int line_of(const yaml_mark_t& mark) { return static_cast<int>(mark.line) + 1; }

bool is_null_text(std::string_view text) {
  return text.empty() || text == "~" || text == "null" || text == "Null" || text == "NULL";
}

// Turns events into a tree. Open containers are kept by pointer: only the innermost one grows, so none moves.
class Builder {
 public:
  Builder(YamlDocument& document, const YamlLimits& limits) : document_(document), limits_(limits) {}

  Result<void> take(const yaml_event_t& event) {
    line_ = line_of(event.start_mark);
    switch (event.type) {
      case YAML_DOCUMENT_START_EVENT:
        return start_document(event);
      case YAML_ALIAS_EVENT:
        return refuse("an alias (*name)", "write the value out");
      case YAML_SCALAR_EVENT:
        return scalar(event);
      case YAML_SEQUENCE_START_EVENT:
        TRY_VOID(check_marks(event.data.sequence_start.anchor, event.data.sequence_start.tag));
        return open_container(YamlNode::Kind::sequence);
      case YAML_MAPPING_START_EVENT:
        TRY_VOID(check_marks(event.data.mapping_start.anchor, event.data.mapping_start.tag));
        return open_container(YamlNode::Kind::mapping);
      case YAML_SEQUENCE_END_EVENT:
      case YAML_MAPPING_END_EVENT:
        open_.pop_back();
        return {};
      default:
        return {};
    }
  }

 private:
  struct Open {
    YamlNode* node;
    bool key_next;                         // mappings: the next scalar is a key
    std::unordered_set<std::string> keys;  // filled once the mapping is too large to compare one by one
  };

  std::unexpected<Error> refuse(std::string_view what, std::string_view instead = "") const {
    return fail(ErrorCode::invalid, fmt::format("{}:{}: {} is not allowed here{}{}", document_.file, line_, what,
                                                instead.empty() ? "" : ": ", instead));
  }

  Result<void> start_document(const yaml_event_t& event) {
    if (++documents_ > 1) return refuse("a second document (---)");
    const auto& tags = event.data.document_start.tag_directives;
    if (tags.start != tags.end) return refuse("a %TAG directive");
    return {};
  }

  Result<void> check_marks(const yaml_char_t* anchor, const yaml_char_t* tag) const {
    if (anchor) return refuse("an anchor (&name)", "write the value out where it is used");
    if (tag) return refuse("a tag (!name)");
    return {};
  }

  Result<void> scalar(const yaml_event_t& event) {
    const auto& value = event.data.scalar;
    TRY_VOID(check_marks(value.anchor, value.tag));
    std::string text(reinterpret_cast<const char*>(value.value), value.length);
    const bool quoted = value.style != YAML_PLAIN_SCALAR_STYLE;
    if (!open_.empty() && open_.back().key_next) return key(std::move(text), quoted);
    YamlNode* node = TRY(add());
    node->quoted = quoted;
    if (!quoted && is_null_text(text)) return {};
    node->kind = YamlNode::Kind::scalar;
    node->text = std::move(text);
    return {};
  }

  Result<void> key(std::string text, bool quoted) {
    if (!quoted && text == "<<") return refuse("a merge key (<<)");
    Open& open = open_.back();
    auto& members = open.node->members;
    constexpr std::size_t kFew = 16;
    bool known = false;
    if (members.size() < kFew) {
      known = open.node->find(text) != nullptr;
    } else {
      if (open.keys.empty())
        for (const auto& member : members) open.keys.insert(member.first);
      known = !open.keys.insert(text).second;
    }
    if (known)
      return fail(ErrorCode::invalid, fmt::format("{}:{}: key {} is given twice (first on line {})", document_.file,
                                                  line_, quote(text), open.node->find(text)->line));
    members.push_back({std::move(text), {}});
    members.back().second.line = line_;
    open.key_next = false;
    return {};
  }

  Result<void> open_container(YamlNode::Kind kind) {
    if (!open_.empty() && open_.back().key_next) return refuse("a list or mapping as a key");
    if (static_cast<int>(open_.size()) >= limits_.max_depth)
      return fail(ErrorCode::invalid,
                  fmt::format("{}:{}: nested deeper than {} levels", document_.file, line_, limits_.max_depth));
    YamlNode* node = TRY(add());
    node->kind = kind;
    open_.push_back({node, kind == YamlNode::Kind::mapping, {}});
    return {};
  }

  // The node that comes next: the root, the value of the last key, or a new item.
  Result<YamlNode*> add() {
    if (++nodes_ > limits_.max_nodes)
      return fail(ErrorCode::invalid,
                  fmt::format("{}:{}: more than {} values in one file", document_.file, line_, limits_.max_nodes));
    if (!open_.empty() && open_.back().node->kind == YamlNode::Kind::mapping) {
      open_.back().key_next = true;
      return &open_.back().node->members.back().second;  // its line is its key's
    }
    YamlNode* node = open_.empty() ? &document_.root : &open_.back().node->items.emplace_back();
    node->line = line_;
    return node;
  }

  YamlDocument& document_;
  const YamlLimits& limits_;
  std::vector<Open> open_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
  int line_ = 1;
};

Error syntax_error(const std::string& file, const yaml_parser_t& parser) {
  const std::string_view problem = parser.problem ? parser.problem : "cannot be read";
  std::string text = fmt::format("{}:{}: not valid YAML: {}", file, line_of(parser.problem_mark), problem);
  if (parser.context && parser.context_mark.line != parser.problem_mark.line)
    text += fmt::format(" {} that began on line {}", parser.context, line_of(parser.context_mark));
  return Error{ErrorCode::invalid, std::move(text), {}};
}

}  // namespace

const YamlNode* YamlNode::find(std::string_view key) const {
  const auto found = std::ranges::find(members, key, [](const auto& member) { return std::string_view(member.first); });
  return found == members.end() ? nullptr : &found->second;
}

Result<YamlDocument> parse_yaml(std::string_view text, std::string file, const YamlLimits& limits) {
  YamlDocument document{std::move(file), {}};
  document.root.line = 1;
  if (text.size() > limits.max_bytes)
    return fail(ErrorCode::invalid,
                fmt::format("{}: larger than {} MiB: is this the right file?", document.file, limits.max_bytes >> 20));
  if (const auto line = line_of_bad_utf8(text))
    return fail(ErrorCode::invalid, fmt::format("{}:{}: not UTF-8 text", document.file, *line));
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);

  Parser parser;
  yaml_parser_set_encoding(parser.get(), YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(parser.get(), reinterpret_cast<const unsigned char*>(text.data()), text.size());
  Builder builder(document, limits);
  for (;;) {
    Event next;
    if (!yaml_parser_parse(parser.get(), &next.event)) {
      if (parser.get()->error == YAML_MEMORY_ERROR) return fail(ErrorCode::internal, "out of memory");
      return std::unexpected(syntax_error(document.file, *parser.get()));
    }
    if (next.event.type == YAML_STREAM_END_EVENT) return document;
    TRY_VOID(builder.take(next.event));
  }
}

}  // namespace partita
