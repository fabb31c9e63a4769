// What a system may not be called, nor have.

#include "options/description.hpp"

#include <catch2/catch.hpp>

#include "popflow/systems.hpp"

namespace popflow::test {

TEST_CASE("Descriptions that no command line or file could hold are refused", "[fast]") {
  SystemInfo good;
  good.name = "toy-1";
  good.parameters = {{"rate", Kind::real, "1", "its rate"}};
  good.dimensions = {{"token", "of the vocabulary"}};
  good.fields = {{"x", {"token"}, "x", "place", ""}};
  good.observables = {{"loss", "L", "loss", ""}};
  good.events = {{"settled", "x settles"}};
  good.constants = {{"kappa", "", "a constant"}};
  CHECK_NOTHROW(require_description(good));

  const auto said = [&](auto change) {
    SystemInfo bad = good;
    change(bad);
    try {
      require_description(bad);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  };
  const auto option = [&](Parameter own) {
    return said([&](SystemInfo& bad) { bad.parameters.push_back(std::move(own)); });
  };
  const auto observable = [&](const std::string& name) {
    return said([&](SystemInfo& bad) { bad.observables.push_back({name, "", "", ""}); });
  };
  using Catch::Contains;
  CHECK_THAT(said([](SystemInfo& bad) { bad.name = "a b"; }), Contains("its name is 'a b'"));
  CHECK_THAT(option({"rate", Kind::real, "2", ""}), Contains("two options 'rate'"));
  CHECK_THAT(option({"a=b", Kind::real, "2", ""}), Contains("an option 'a=b'"));
  CHECK_THAT(option({"seed", Kind::real, "2", ""}), Contains("which every system has"));
  CHECK_THAT(option({"help", Kind::flag, "", ""}), Contains("in the place of --help"));
  CHECK_THAT(option({.name = "order", .default_text = "2", .meaning = "", .letter = 'o'}),
             Contains("the letter of --output"));
  CHECK_THAT(option({"kind", Kind::word, "", ""}), Contains("a list of words, which is empty"));
  CHECK_THAT(option({"on", Kind::flag, "true", ""}), Contains("on by default"));
  for (const char* name : {"time", "run", "saves_done", "status", "loss", "x", "token", "kappa"})
    CHECK_THAT(observable(name), Contains("a name that something else"));
  for (const char* name : {"", ".", "a b", "a/b"})
    CHECK_THAT(observable(name), Contains("neither blanks nor '/'"));
  CHECK_THAT(observable("time_of_settled"), Contains("its event's time"));
  CHECK_THAT(observable("time"), Contains("the system toy-1:"));
}

TEST_CASE("The systems here are described well", "[fast]") {
  for (const CatalogueRow& row : systems().rows()) CHECK_NOTHROW(require_description(row.info()));
}

}  // namespace popflow::test
