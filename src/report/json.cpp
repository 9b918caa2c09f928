#include <nlohmann/json.hpp>

#include "report/json_text.h"
#include "report/words.h"

namespace partita::report {
namespace {

using Json = nlohmann::ordered_json;

std::string_view shape_word(Figure::Shape shape) {
  switch (shape) {
    case Figure::Shape::bars:
      return "bars";
    case Figure::Shape::grouped_bars:
      return "grouped_bars";
    case Figure::Shape::lines:
      return "lines";
    case Figure::Shape::timeline:
      return "timeline";
  }
  return "bars";
}

Json value_json(const std::optional<Value>& value) {
  if (!value) return nullptr;
  Json out{{"value", value->value}};
  if (value->low) out["low"] = *value->low;
  if (value->high) out["high"] = *value->high;
  return out;
}

Json series_json(const Series& series) {
  Json out{{"name", series.name}, {"kind", kind_word(series.kind)}, {"values", Json::array()}};
  for (const auto& value : series.values) out["values"].push_back(value_json(value));
  return out;
}

Json part_json(const Figure& figure) {
  Json out{{"type", "figure"},          {"shape", shape_word(figure.shape)},
           {"title", figure.title},     {"x_title", figure.x_title},
           {"y_title", figure.y_title}, {"x_is_number", figure.x_is_number},
           {"log_y", figure.log_y},     {"x", figure.x},
           {"series", Json::array()},   {"note", figure.note}};
  for (const Series& series : figure.series) out["series"].push_back(series_json(series));
  return out;
}

Json part_json(const Table& table) {
  Json out{{"type", "table"}, {"title", table.title}, {"columns", Json::array()}, {"rows", table.rows}};
  for (std::size_t column = 0; column < table.columns.size(); ++column) {
    const bool known = column < table.kinds.size();
    out["columns"].push_back(
        {{"title", table.columns[column]}, {"kind", known ? Json(kind_word(table.kinds[column])) : Json(nullptr)}});
  }
  return out;
}

std::string_view fill_word(Drawing::Look::Fill fill) {
  switch (fill) {
    case Drawing::Look::Fill::colour:
      return "colour";
    case Drawing::Look::Fill::hatched:
      return "hatched";
    case Drawing::Look::Fill::outline:
      return "outline";
    case Drawing::Look::Fill::solid:
      return "solid";
  }
  return "colour";
}

Json row_json(const Drawing::Row& row) {
  Json out{{"name", row.name}, {"note", row.note}, {"lanes", row.lanes}, {"blocks", Json::array()}};
  for (const auto& block : row.blocks)
    out["blocks"].push_back({{"from", block.from},
                             {"until", block.until},
                             {"top", block.top},
                             {"height", block.height},
                             {"text", block.text},
                             {"below", block.below},
                             {"detail", block.detail},
                             {"look", block.look}});
  return out;
}

Json part_json(const Drawing& drawing) {
  Json out{{"type", "drawing"},      {"title", drawing.title},   {"kind", kind_word(drawing.kind)},
           {"scale", drawing.scale}, {"length", drawing.length}, {"looks", Json::array()},
           {"rows", Json::array()},  {"note", drawing.note}};
  for (const auto& look : drawing.looks)
    out["looks"].push_back({{"name", look.name}, {"fill", fill_word(look.fill)}, {"colour", look.colour}});
  for (const auto& row : drawing.rows) out["rows"].push_back(row_json(row));
  return out;
}

Json section_json(const Section& section) {
  Json out{{"title", section.title}, {"paragraphs", section.paragraphs}, {"parts", Json::array()}};
  for (const auto& part : section.parts)
    out["parts"].push_back(std::visit([](const auto& one) { return part_json(one); }, part));
  return out;
}

Json report_json(const Report& report) {
  Json out{{"title", report.title}, {"question", report.question}, {"answer", report.answer}};
  out["warnings"] = report.warnings;
  out["sections"] = Json::array();
  for (const Section& section : report.sections) out["sections"].push_back(section_json(section));
  out["rests_on"] = report.rests_on;
  out["command"] = report.command;
  return out;
}

// Bytes that are not UTF-8 (a name from a file) become U+FFFD; nothing throws.
std::string dump(const Json& json, int indent) { return json.dump(indent, ' ', false, Json::error_handler_t::replace); }

}  // namespace

std::string to_json(const Report& report) { return dump(report_json(report), 2) + "\n"; }

std::string reports_json(const std::vector<Report>& reports) {
  Json out = Json::array();
  for (const Report& report : reports) out.push_back(report_json(report));
  return dump(out, -1);
}

}  // namespace partita::report
