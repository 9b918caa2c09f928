#include "serve/openapi.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "base/yaml.h"
#include "serve/route.h"

namespace partita::serve {
namespace {

YamlDocument document() {
  auto parsed = parse_yaml(openapi_document(), "openapi.yaml");
  if (!parsed) throw std::runtime_error(parsed.error().message);
  return *std::move(parsed);
}

const YamlNode& member(const YamlNode& node, std::string_view key) {
  const auto* found = node.find(key);
  if (!found) throw std::runtime_error("no member " + std::string(key));
  return *found;
}

TEST(Openapi, describes_every_route_and_no_other) {
  const auto parsed = document();
  std::set<std::string> described, served;
  for (const auto& [path, item] : member(parsed.root, "paths").members)
    for (const auto& [method, operation] : item.members)
      if (method != "parameters") described.insert(method + " " + path);
  for (const auto& route : routes()) served.insert(lower(route.method) + " " + std::string(route.path));
  EXPECT_EQ(described, served);
}

TEST(Openapi, routes_take_the_bodies_that_it_describes) {
  const auto parsed = document();
  for (const auto& route : routes()) {
    const auto& operation = member(member(member(parsed.root, "paths"), route.path), lower(route.method));
    const auto* body = operation.find("requestBody");
    EXPECT_EQ(body != nullptr, route.body != Body::none) << route.method << " " << route.path;
    if (!body) continue;
    const auto* reference = body->find("$ref");
    if (reference)
      body = &member(member(member(parsed.root, "components"), "requestBodies"), split(reference->text, '/').back());
    EXPECT_EQ(member(*body, "required").text == "true", route.body == Body::json) << route.path;
  }
}

// Properties of every schema, wherever it stands.
void each_property(const YamlNode& node, const std::string& where,
                   const std::function<void(const std::string&, const YamlNode&)>& look) {
  for (const auto& item : node.items) each_property(item, where, look);
  for (const auto& [key, value] : node.members) {
    if (key == "examples") continue;
    if (key == "properties")
      for (const auto& property : value.members) look(where + "." + property.first, property.second);
    each_property(value, where + "." + key, look);
  }
}

TEST(Openapi, every_field_says_what_it_is) {
  const auto parsed = document();
  int properties = 0;
  each_property(parsed.root, "", [&](const std::string& name, const YamlNode& schema) {
    ++properties;
    EXPECT_TRUE(schema.find("description") || schema.find("$ref")) << name;
  });
  EXPECT_GT(properties, 200);
}

TEST(Openapi, fields_with_a_unit_say_it) {
  const auto parsed = document();
  each_property(parsed.root, "", [&](const std::string& name, const YamlNode& schema) {
    const auto* description = schema.find("description");
    if (!description) return;
    const auto* unit = name.ends_with("_bytes") ? "bytes" : name.ends_with("_ms") ? "milliseconds" : "";
    EXPECT_THAT(description->text, ::testing::HasSubstr(unit)) << name;
  });
}

void each_reference(const YamlNode& node, const std::function<void(const std::string&)>& look) {
  for (const auto& item : node.items) each_reference(item, look);
  for (const auto& [key, value] : node.members)
    if (key == "$ref")
      look(value.text);
    else
      each_reference(value, look);
}

TEST(Openapi, references_lead_somewhere) {
  const auto parsed = document();
  each_reference(parsed.root, [&](const std::string& reference) {
    const auto* node = &parsed.root;
    for (const auto& key : split(reference.substr(2), '/')) {
      node = node->find(key);
      ASSERT_NE(node, nullptr) << reference;
    }
  });
}

}  // namespace
}  // namespace partita::serve
