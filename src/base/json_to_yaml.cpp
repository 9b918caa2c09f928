#include "base/json_to_yaml.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

namespace partita {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kMostLevels = 200;

class Emitter {
 public:
  explicit Emitter(std::string& out) {
    yaml_emitter_initialize(&emitter_);
    yaml_emitter_set_output(
        &emitter_,
        [](void* text, unsigned char* bytes, std::size_t size) {
          static_cast<std::string*>(text)->append(reinterpret_cast<const char*>(bytes), size);
          return 1;
        },
        &out);
    yaml_emitter_set_unicode(&emitter_, 1);
    yaml_emitter_set_width(&emitter_, -1);
  }
  Emitter(const Emitter&) = delete;
  Emitter& operator=(const Emitter&) = delete;
  ~Emitter() { yaml_emitter_delete(&emitter_); }

  bool document(const Json& json) {
    yaml_event_t event;
    yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
    bool good = emit(event);
    yaml_document_start_event_initialize(&event, nullptr, nullptr, nullptr, 1);
    good = good && emit(event) && value(json, 0);
    yaml_document_end_event_initialize(&event, 1);
    good = good && emit(event);
    yaml_stream_end_event_initialize(&event);
    return good && emit(event);
  }

 private:
  bool emit(yaml_event_t& event) { return yaml_emitter_emit(&emitter_, &event) != 0; }

  bool value(const Json& json, int level) {
    if (level > kMostLevels) return false;
    if (json.is_object()) return object(json, level);
    if (json.is_array()) return array(json, level);
    if (json.is_string()) return text(json.get_ref<const std::string&>());
    return scalar(json.dump(), YAML_PLAIN_SCALAR_STYLE);
  }

  bool object(const Json& json, int level) {
    yaml_event_t event;
    yaml_mapping_start_event_initialize(&event, nullptr, nullptr, 1, YAML_BLOCK_MAPPING_STYLE);
    bool good = emit(event);
    for (const auto& [key, member] : json.items()) good = good && text(key) && value(member, level + 1);
    yaml_mapping_end_event_initialize(&event);
    return good && emit(event);
  }

  bool array(const Json& json, int level) {
    const bool short_list = json.size() <= 32 && std::ranges::all_of(json, [](const Json& i) { return i.is_number(); });
    yaml_event_t event;
    yaml_sequence_start_event_initialize(&event, nullptr, nullptr, 1,
                                         short_list ? YAML_FLOW_SEQUENCE_STYLE : YAML_BLOCK_SEQUENCE_STYLE);
    bool good = emit(event);
    for (const Json& item : json) good = good && value(item, level + 1);
    yaml_sequence_end_event_initialize(&event);
    return good && emit(event);
  }

  bool text(const std::string& text) {
    return scalar(text, reads_back_as_text(text) ? YAML_PLAIN_SCALAR_STYLE : YAML_DOUBLE_QUOTED_SCALAR_STYLE);
  }

  // Plain only where no YAML 1.1 or 1.2 reader takes it for something else; the emitter itself quotes what would not
  // even parse.
  static bool reads_back_as_text(const std::string& text) {
    static constexpr std::string_view kWords[] = {"y",    "n",     "yes",  "no", "on", "off",
                                                  "true", "false", "null", "~",  "<<", "="};
    if (text.empty()) return false;
    const auto first = static_cast<unsigned char>(text[0]);
    if (!std::isalpha(first) && !(std::isdigit(first) && text.find('g') != text.npos)) return false;
    std::string small;
    for (const char c : text) small += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return std::ranges::find(kWords, small) == std::end(kWords) && text.find('\n') == text.npos;
  }

  bool scalar(const std::string& text, yaml_scalar_style_t style) {
    yaml_event_t event;
    const auto* bytes = reinterpret_cast<const yaml_char_t*>(text.data());
    if (!yaml_scalar_event_initialize(&event, nullptr, nullptr, bytes, static_cast<int>(text.size()), 1, 1, style))
      return false;
    return emit(event);
  }

  yaml_emitter_t emitter_{};
};

}  // namespace

Result<std::string> json_to_yaml(std::string_view json) {
  const Json tree = Json::parse(json, nullptr, false);
  if (tree.is_discarded()) return fail(ErrorCode::internal, "cannot turn the answer into YAML: it is not valid JSON");
  std::string out;
  if (!Emitter(out).document(tree)) return fail(ErrorCode::internal, "cannot turn the answer into YAML");
  return out;
}

}  // namespace partita
