// Descriptions of plug-ins, and messages about wrong ones.

#include "plugin/description.hpp"

#include <string>

#include "plugin/plugin.hpp"
#include "popflow/error.hpp"
#include "support/catch.hpp"

namespace popflow::plugin::test {
namespace {

const std::string kStart = R"({"name": "decay", "title": "decay", )";
const std::string kField = R"("fields": [{"name": "x", "meaning": "place"}])";

/// Returns the error message of a description; empty if it is accepted.
std::string refusal(const std::string& json) {
  try {
    (void)read_description(json, "a.so");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("plugin: a description gives parameters, shapes and provenance", "[fast]") {
  const Description found = read_description(
      kStart + R"("parameters": [{"name": "size", "kind": "integer", "default": 3, "low": 1,
                                  "meaning": "numbers"},
                                 {"name": "speed", "default": 0.5, "meaning": "speed"}],
                  "dimensions": [{"name": "item", "size": "size"}],
                  "fields": [{"name": "x", "meaning": "place", "dimensions": ["item"]}],
                  "provenance": {"hash": "abc", "source": "text"}})",
      "a.so");
  CHECK(found.system.parameters.size() == 2);
  CHECK(found.system.parameters[0].kind == Kind::integer);
  CHECK(found.system.parameters[1].default_text == "0.5");
  CHECK(found.fields.at(0).axes.at(0).second.parameter == "size");
  CHECK(found.hash == "abc");
  CHECK(found.json.find("provenance") == std::string::npos);
}

TEST_CASE("plugin: a description without a hash gets one from its text", "[fast]") {
  const std::string one = read_description(kStart + kField + "}", "a.so").hash;
  CHECK(one == read_description("  " + kStart + kField + "}", "b.so").hash);
  CHECK(one != read_description(kStart + kField + R"(, "end": 3})", "a.so").hash);
}

TEST_CASE("plugin: a generated source is read as JSON reads it", "[fast]") {
  const auto source_in = [](const std::string& literal, const std::string& before = "") {
    const Description found =
        read_description(kStart + before + kField + R"(, "provenance": {"generated": ")" + literal +
                             R"(", "source": "m.py"}})",
                         "a.so");
    for (const auto& [key, text] : found.provenance)
      if (key == "generated") return text;
    return std::string("none");
  };
  CHECK(source_in("") == "");
  CHECK(source_in(R"(int a;\n\t\"\\\/ end\r\b\f)") == "int a;\n\t\"\\/ end\r\b\f");
  CHECK(source_in(R"(caf\u00e9)") == "caf\u00e9");
  CHECK(source_in("caf\u00e9") == "caf\u00e9");
  CHECK(source_in(R"(a \"generated\": \"b\" c)") == R"(a "generated": "b" c)");
  CHECK(source_in("text", R"("source": "a \"generated\": \"b\" c", )") == "text");
  const auto refused = [](const std::string& provenance) {
    return refusal(kStart + kField + R"(, "provenance": {"generated": ")" + provenance);
  };
  CHECK(refused("never ends").find("is no JSON") != std::string::npos);
  CHECK(refused(R"(a wrong \q escape"}})").find("is no JSON") != std::string::npos);
  CHECK(refused("a\nline\"}}").find("is no JSON") != std::string::npos);
  CHECK(refused(R"(ends"}, 3})").find("is no JSON") != std::string::npos);
}

TEST_CASE("plugin: errors of a description are reported", "[fast]") {
  const auto says = [](const std::string& json, const std::string& sentence) {
    INFO(json);
    INFO(refusal(json));
    CHECK(refusal(json).find(sentence) != std::string::npos);
  };
  CHECK(refusal(kStart + kField + "}").empty());
  says("{", "is no JSON");
  says("[1]", "is no object");
  says(R"({"title": "decay"})", "has no \"name\"");
  says(kStart + R"("fields": []})", "has no \"fields\"");
  says(kStart + kField + R"(, "ends": 3})", "did you mean \"end\"?");
  says(kStart + kField + R"(, "end": "late"})", "must be a number");
  says(kStart + R"("fields": [{"name": "x"}]})", "fields[0], has no \"meaning\"");
  says(kStart + R"("fields": [{"name": "x", "meaning": "m", "dimensions": ["i"]}]})",
       "the dimension \"i\", which is not described");
  says(kStart + kField + R"(, "parameters": [{"name": "p", "meaning": "m"}]})", "no \"default\"");
  says(kStart + kField + R"(, "parameters": [{"name": "p", "meaning": "m", "kind": "fast"}]})",
       "must be real, integer, word or flag");
  says(kStart + kField + R"(, "dimensions": [{"name": "i", "size": 0}]})", "from 1 on");
  says(kStart + kField + R"(, "dimensions": [{"name": "i", "size": "n"}]})",
       "no parameter of kind integer");
}

TEST_CASE("plugin: a system without its plug-in has tables, and refuses to compute", "[fast]") {
  const CatalogueRow row = described(
      kStart + kField + R"(, "loss": true, "observables": [{"name": "o", "meaning": "m"}]})",
      "a.h5", "the plug-in is missing");
  CHECK(row.info().name == "decay");
  CHECK(row.info().observables.size() == 2);
  Workers workers(1);
  const Catalogue catalogue(std::vector<CatalogueRow>{row});
  const Made made = catalogue.make("decay", Parameters(row.info().parameters), Setting{}, workers);
  const double x = 0;
  double rate = 0;
  try {
    made.system->rhs(std::span(&x, 1), 0, {&rate, 1});
    FAIL("a missing plug-in computed a rate");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("the plug-in is missing") != std::string::npos);
  }
}

}  // namespace popflow::plugin::test
