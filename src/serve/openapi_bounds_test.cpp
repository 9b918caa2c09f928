// Every bound of a request that the OpenAPI document states is the reader's own: the value at the bound is taken, the
// next one beyond is refused.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "api/json_read.h"
#include "base/text.h"
#include "base/yaml.h"
#include "serve/openapi.h"
#include "serve/test_support.h"

namespace partita::serve {
namespace {

using Json = nlohmann::ordered_json;
using Path = std::vector<std::string>;
using Read = std::function<Result<void>(const std::string&)>;

template <class T>
Result<void> only_error(const Result<T>& result) {
  if (result) return {};
  return std::unexpected(result.error());
}

// What reads each schema that a request's body may have.
const std::map<std::string, Read>& readers() {
  static const api::Caller root{0, "root", true, false, {}};
  static const std::map<std::string, Read> all = {
      {"LeaseRequest", [](const std::string& t) { return only_error(api::read_lease_request(t, root)); }},
      {"Change", [](const std::string& t) { return only_error(api::read_lease_change(t, root, "a")); }},
      {"Renewal", [](const std::string& t) { return only_error(api::read_renewal(t, root, "a")); }},
      {"Resizing", [](const std::string& t) { return only_error(api::read_resizing(t, root, "a")); }},
      {"Attachment", [](const std::string& t) { return only_error(api::read_attachment(t, root, "a")); }},
      {"PlanRequest",
       [](const std::string& t) { return only_error(api::read_plan_request(t, root, api::Hooks::allowed)); }}};
  return all;
}

// What has to stand beside a member for its object to be well formed.
Json around(const Path& path) {
  const std::string& last = path.back();
  const std::string& first = path.front();
  Json out = Json::object();
  if (first == "mig_parted" || first == "lines" || first == "file")
    out = Json::parse(R"({"mig_parted": {"version": "v1", "mig-configs":
                          {"a": [{"devices": "all", "mig-enabled": true, "mig-devices": {"2g.10gb": 1}}]}}})");
  if (first == "process") out = Json::parse(R"({"process": {"pid": 1, "start_time_ticks": 1}})");
  if (first == "holder") out = Json::parse(R"({"holder": {"uid": 0, "user": "root"}})");
  if (last == "pid" || last == "start_time_ticks")
    if (first == "holder") out["holder"]["process"] = Json::parse(R"({"pid": 1, "start_time_ticks": 1})");
  return out;
}

class Walk {
 public:
  Walk(const YamlNode& document, const std::string& schema, const Read& read)
      : document_(document), schema_(schema), read_(read) {
    walk(schema_named(schema), {});
  }
  int bounds() const { return bounds_; }

 private:
  const YamlNode& schema_named(const std::string& name) const {
    return *document_.find("components")->find("schemas")->find(name);
  }
  const YamlNode& resolved(const YamlNode& schema) const {
    const YamlNode* reference = schema.find("$ref");
    return reference ? schema_named(split(reference->text, '/').back()) : schema;
  }

  void walk(const YamlNode& unresolved, const Path& path) {
    const YamlNode& schema = resolved(unresolved);
    if (!path.empty()) check(schema, path);
    if (const YamlNode* either = schema.find("oneOf"); either && !path.empty())
      for (const YamlNode& one : either->items) walk(one, path);
    if (const YamlNode* properties = schema.find("properties"))
      for (const auto& [key, property] : properties->members) walk(property, with(path, key));
    if (const YamlNode* items = schema.find("items")) walk(*items, with(path, path.back() == "a" ? "0" : "[]"));
    if (const YamlNode* more = schema.find("additionalProperties"); more && more->kind == YamlNode::Kind::mapping)
      walk(*more, with(path, path.back() == "mig-configs" ? "a" : "1g.5gb"));
    if (const YamlNode* names = schema.find("propertyNames"))
      for (const auto* key : {"minLength", "maxLength"})
        if (const YamlNode* bound = names->find(key)) {
          const std::string name(std::stoul(bound->text), 'k');
          const bool most = std::string_view(key) == "maxLength";
          both(path, Json{{name, "v"}}, Json{{most ? name + 'k' : name.substr(1), "v"}}, key);
        }
  }
  static Path with(Path path, const std::string& key) {
    path.push_back(key);
    return path;
  }

  void check(const YamlNode& schema, const Path& path) {
    for (const auto& [key, bound] : schema.members) {
      if (key == "minimum") both(path, Json::parse(bound.text), beyond(Json::parse(bound.text), -1), key);
      if (key == "maximum") both(path, Json::parse(bound.text), beyond(Json::parse(bound.text), 1), key);
      const bool of_size = key == "maxLength" || key == "maxItems" || key == "maxProperties";
      if (!of_size) {
        EXPECT_FALSE(key.starts_with("exclusiveM") || key == "minItems" || key == "multipleOf")
            << "teach this test " << key;
        continue;
      }
      const std::size_t n = std::stoul(bound.text);
      both(path, of_length(key, n), of_length(key, n + 1), key);
    }
  }
  static Json beyond(const Json& bound, int step) {
    if (bound.is_number_float()) return bound.get<double>() + step * 1e-3;
    if (step > 0) return bound.get<std::uint64_t>() + 1;
    return bound.get<std::int64_t>() - 1;
  }
  static Json of_length(const std::string& key, std::size_t n) {
    if (key == "maxLength") return std::string(n, 'a');
    if (key == "maxItems") return std::vector<std::string>(n, "1c");
    Json out = Json::object();
    for (std::size_t i = 0; i < n; ++i) out["k" + std::to_string(i)] = "v";
    return out;
  }

  void both(const Path& path, const Json& at, const Json& after, const std::string& what) {
    if (schema_ == "PlanRequest" && path.back() == "label") return;  // of any length, it must be one of mig_parted's
    ++bounds_;
    const auto taken = read_(document(path, at));
    EXPECT_TRUE(taken) << where(path, what) << ": " << (taken ? "" : taken.error().message);
    const auto refused = read_(document(path, after));
    EXPECT_FALSE(refused) << where(path, what) << ": what is beyond is taken";
    EXPECT_EQ(refused ? ErrorCode::invalid : refused.error().code, ErrorCode::invalid) << where(path, what);
  }
  std::string where(const Path& path, const std::string& what) const {
    return schema_ + ": " + join(path, ".") + ", " + what;
  }

  std::string document(const Path& path, const Json& value) const {
    Json out = around(path);
    if (schema_ == "LeaseRequest" || schema_ == "Resizing") out["requirement"] = {{"profile", "1g.5gb"}};
    if (schema_ == "Attachment" && path.front() != "process") out.update(around({"process"}));
    Json* at = &out;
    for (const std::string& key : path) {
      if (key == "[]") *at = Json::array({nullptr});
      at = key == "[]" ? &(*at)[0] : key == "0" ? &(*at)[0] : &(*at)[key];
    }
    *at = value;
    return out.dump();
  }

  const YamlNode& document_;
  const std::string schema_;
  const Read& read_;
  int bounds_ = 0;
};

void each_body(const YamlNode& node, bool in_body, std::set<std::string>& found) {
  for (const YamlNode& item : node.items) each_body(item, in_body, found);
  for (const auto& [key, value] : node.members) {
    if (key == "$ref" && in_body && value.text.find("/schemas/") != std::string::npos)
      found.insert(split(value.text, '/').back());
    each_body(value, in_body || key == "requestBody" || key == "requestBodies", found);
  }
}

TEST(OpenapiBounds, of_bodies_are_the_readers_own) {
  const YamlDocument parsed = value(parse_yaml(openapi_document(), "openapi.yaml"));
  std::set<std::string> bodies, read;
  each_body(parsed.root, false, bodies);
  int bounds = 0;
  for (const auto& [schema, reader] : readers()) {
    read.insert(schema);
    bounds += Walk(parsed.root, schema, reader).bounds();
  }
  EXPECT_EQ(bodies, read);
  EXPECT_GT(bounds, 60);
}

TEST(OpenapiBounds, of_parameters_are_the_servers_own) {
  const RunningServer running;
  ASSERT_THAT(running.ask("POST", "/v1/leases", R"({"requirement": {"profile": "1g.5gb"}})"),
              testing::HasSubstr("201"));
  const YamlDocument parsed = value(parse_yaml(openapi_document(), "openapi.yaml"));
  int bounds = 0;
  for (const auto& [path, item] : parsed.root.find("paths")->members) {
    const YamlNode* get = item.find("get");
    const YamlNode* parameters = get ? get->find("parameters") : nullptr;
    if (parameters == nullptr) continue;
    for (const YamlNode& parameter : parameters->items) {
      const YamlNode* schema = parameter.find("schema");
      const YamlNode* in = parameter.find("in");
      if (schema == nullptr || in == nullptr || in->text != "query") continue;
      const std::string url = path + "?" + parameter.find("name")->text + "=";
      const auto status = [&](const std::string& value) { return running.ask("GET", url + value).substr(9, 3); };
      for (const auto& [key, bound] : schema->members) {
        const bool number = key == "minimum" || key == "maximum", length = key == "minLength" || key == "maxLength";
        if (!number && !length) continue;
        ++bounds;
        const int step = key.starts_with("min") ? -1 : 1;
        const auto n = std::stoull(bound.text);
        const auto after = n + static_cast<unsigned long long>(step);
        const auto text = [](unsigned long long size) { return std::string(size, 'a'); };
        if (path == "/v1/layouts") continue;  // the length of a label: there is only the one called current
        EXPECT_EQ(status(number ? bound.text : text(n)), "200") << url << key;
        EXPECT_EQ(status(length               ? text(after)
                         : n == 0 && step < 0 ? "-1"
                                              : std::to_string(after)),
                  "400")
            << url << key;
      }
    }
  }
  EXPECT_GT(bounds, 8);
}

}  // namespace
}  // namespace partita::serve
