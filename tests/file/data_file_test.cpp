#include "popflow/data_file.hpp"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <random>
#include <sstream>

#include "file/trajectory_file.hpp"
#include "popflow/error.hpp"
#include "scratch.hpp"

namespace popflow::file_test {
namespace {

using Catch::Contains;

/// Runs lines of Python with h5py, numpy and a file's path in the variable `path`.
void write_with_python(const std::string& path, const std::string& lines) {
  const std::string script = path + ".py";
  put(script, "import h5py, numpy as np\npath = '" + path + "'\n" + lines);
  REQUIRE(python(script) == 0);
}

const std::string kForeign = R"(
with h5py.File(path, 'w') as f:
    f['single'] = np.arange(6, dtype='>f4').reshape(2, 3)
    f['half'] = np.array([0.5, 1.5], dtype='f2')
    for kind in ('i1', 'u1', '>i2', 'u2', 'i4', '>u4', 'i8'):
        f['whole_' + kind.strip('>')] = np.array([[1, 2, 3], [4, 5, 100]], dtype=kind)
    f['large'] = np.array([2**53 + 1, -2**62 - 1])
    f['truth'] = np.array([True, False, True])
    f.create_dataset('packed', data=np.zeros((300, 100)), compression='gzip', chunks=(30, 10))
    f.create_dataset('shuffled', data=np.arange(1000), compression='gzip', shuffle=True)
    f.create_dataset('nobody', shape=(10,), dtype='f8', fillvalue=2.5)
    f.create_dataset('zero', shape=(0, 3), dtype='f8')
    f.create_dataset('absurd', shape=(2**20, 2**20, 2**20), dtype='f8', chunks=(1, 1, 1024))
    f.create_dataset('unwritten', shape=(2**20, 2**20), dtype='f8')
    f['null'] = h5py.Empty('f8')
    f['text'] = 'words'
    f['fixed'] = np.array([b'ab', b'cd'])
    f['pairs'] = np.zeros(2, dtype=[('a', 'f8'), ('b', 'i4')])
    f['complex'] = np.zeros(2, dtype='c16')
    f['deep/er/x'] = 1.0
    f['link'] = h5py.SoftLink('/deep/er/x')
    f['dangling'] = h5py.SoftLink('/nowhere')
    f['loop'] = f['/']
    f.attrs['text'] = 'r\u00e9sum\u00e9'
    f.attrs['bytes'] = np.bytes_(b'plain')
    f.attrs['array'] = np.array([1.5])
    f.attrs['many'] = np.array([1, 2])
    f.attrs['whole'] = np.int16(-7)
    f.attrs['one_text'] = np.array(['a'], dtype=h5py.string_dtype())
)";

TEST_CASE("matrices saved by MATLAB have the shape that MATLAB shows", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "matlab.mat";
  // save('-v7.3') writes columns consecutively behind a user block, and stores the class.
  write_with_python(path, R"(
with h5py.File(path, 'w', userblock_size=512) as f:
    f['A'] = np.array([[11., 21.], [12., 22.], [13., 23.]])
    f['A'].attrs['MATLAB_class'] = np.bytes_(b'double')
    f['k'] = np.array([[1, 3], [2, 4]])
    f['k'].attrs['MATLAB_class'] = np.bytes_(b'int64')
)");
  const DataFile file(path);
  CHECK(file.shape("A") == std::vector<std::size_t>{2, 3});
  CHECK(file.read("A").values == std::vector<double>{11, 12, 13, 21, 22, 23});
  CHECK(file.read("k").integers == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(file.read_slab("A", {1}) == std::vector<double>{21, 22, 23});
  CHECK(file.read_slab("A", {1, 2}) == std::vector<double>{23});
  std::vector<double> row(3);
  file.read_rows("A", {}, 1, 1, row.data());
  CHECK(row == std::vector<double>{21, 22, 23});
}

TEST_CASE("packed numbers are decoded by the CF conventions", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "packed.nc";
  write_with_python(path, R"(
def add(name, values, kind, **attributes):
    f[name] = np.array(values, kind)
    f[name].attrs.update(attributes)
with h5py.File(path, 'w') as f:
    add('scaled', [0, 1, 3, -9], 'i2', scale_factor=.5, add_offset=10., _FillValue=np.int16(-9))
    add('times', [[0, 1], [2, 3]], 'i4', scale_factor=np.array([.25]))
    add('single', [1, 2], 'f4', add_offset=1)
    add('bytes', [-1, -2, 3], 'i1', _Unsigned='true', _FillValue=np.int8(-2), scale_factor=2.)
    add('signed', [255, 3], 'u1', _Unsigned='false')
    add('missing', [1., 2., 3.], 'f8', missing_value=[2., 3.])
    add('range', [1, 5, 9], 'i4', valid_range=[2, 8])
    add('limits', [1, 5, 9], 'i4', valid_min=2, valid_max=8)
    add('whole', [1, 2], 'i4', add_offset=3, _FillValue=np.int32(-1))
    add('gap', [1, -1], 'i4', _FillValue=np.int32(-1))
    add('plain', [1., 2.], 'f8', _FillValue=np.nan, units='1', scale_factor=1., add_offset=0.)
    add('large', [1, 2**64 - 1], 'u8')
    add('dates', [1, 2], 'i4', units='seconds since 2000-01-01')
    add('durations', [1, 2], 'i8', dtype='timedelta64[ns]', units='seconds')
    add('no_scale', [1, 2], 'i4', scale_factor=0.)
    add('text_scale', [1, 2], 'i4', scale_factor='a half')
    add('words', [1, 2], 'i1', _Unsigned='maybe')
)");
  const DataFile file(path);
  const auto shown = [&](const std::string& name) {
    std::ostringstream text;
    for (const double value : file.read(name).values) text << value << ' ';
    return text.str();
  };
  CHECK(shown("scaled") == "10 10.5 11.5 nan ");
  CHECK(shown("times") == "0 0.25 0.5 0.75 ");
  CHECK(shown("single") == "2 3 ");
  CHECK(shown("bytes") == "510 nan 6 ");
  CHECK(shown("signed") == "-1 3 ");
  CHECK(shown("missing") == "1 nan nan ");
  CHECK(shown("range") == "nan 5 nan ");
  CHECK(shown("limits") == "nan 5 nan ");
  CHECK(file.read("whole").integers == std::vector<std::int64_t>{4, 5});
  CHECK(file.read("gap").integers.empty());
  CHECK(shown("gap") == "1 nan ");
  CHECK(shown("plain") == "1 2 ");
  CHECK(file.read("large").values[1] == 18446744073709551615.0);
  CHECK(file.read("large").integers.empty());
  CHECK(file.read_slab("times", {1}) == std::vector<double>{0.5, 0.75});
  double row[2];
  file.read_rows("times", {}, 1, 1, row);
  CHECK(row[1] == 0.75);
  for (const auto& [name, part] :
       std::vector<std::pair<std::string, std::string>>{{"dates", "seconds since"},
                                                        {"durations", "timedelta64"},
                                                        {"no_scale", "scale_factor"},
                                                        {"text_scale", "scale_factor"},
                                                        {"words", "_Unsigned"}})
    CHECK_THROWS_WITH(file.read(name), Contains(part) && Contains("'" + name + "'"));
}

TEST_CASE("files that h5py wrote are read", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "foreign.h5";
  write_with_python(path, kForeign);
  const DataFile file(path);

  CHECK(file.read("single").values == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK(file.read("single").shape == std::vector<std::size_t>{2, 3});
  CHECK(file.read("single").integers.empty());
  CHECK(file.read("half").values == std::vector<double>{0.5, 1.5});
  for (const std::string kind : {"i1", "u1", "i2", "u2", "i4", "u4", "i8"}) {
    const DataArray array = file.read("whole_" + kind);
    CHECK(array.values == std::vector<double>{1, 2, 3, 4, 5, 100});
    CHECK(array.integers == std::vector<std::int64_t>{1, 2, 3, 4, 5, 100});
  }
  CHECK(file.read("large").integers[0] == (std::int64_t{1} << 53) + 1);
  CHECK(file.read("truth").values == std::vector<double>{1, 0, 1});
  CHECK(file.read("packed").values == std::vector<double>(30'000, 0.0));
  CHECK(file.read("shuffled").integers[999] == 999);
  CHECK(file.read("nobody").values == std::vector<double>(10, 2.5));
  CHECK(file.read("zero").shape == std::vector<std::size_t>{0, 3});
  CHECK(file.read("zero").values.empty());
  CHECK(file.read("/deep/er/x").values == std::vector<double>{1});
  CHECK(file.read("link").values == std::vector<double>{1});
  CHECK(file.read_slab("single", {1}) == std::vector<double>{3, 4, 5});
  CHECK(file.dimensions("single") == std::vector<std::string>{"", ""});

  CHECK(file.has_group("deep"));
  CHECK(file.has_group("deep/er"));
  CHECK_FALSE(file.has_dataset("deep"));
  CHECK_FALSE(file.has_dataset("deep/x"));
  CHECK_FALSE(file.has_dataset("single/x"));
  CHECK_FALSE(file.has_dataset("dangling"));
  CHECK_FALSE(file.has_group("absent/below"));
  CHECK(file.has_group(""));
  CHECK(file.has_group("/"));

  CHECK(file.text_attribute("", "text") == "r\u00e9sum\u00e9");
  CHECK(file.text_attribute("", "bytes") == "plain");
  CHECK(file.text_attribute("", "one_text") == "a");
  CHECK(file.number_attribute("", "array") == 1.5);
  CHECK(file.number_attribute("", "whole") == -7);
  CHECK_THROWS_AS(file.number_attribute("", "many"), InputError);
  CHECK_THROWS_AS(file.number_attribute("", "text"), InputError);
  CHECK_THROWS_AS(file.text_attribute("", "whole"), InputError);
  CHECK_THROWS_AS(file.text_attribute("absent", "whole"), InputError);

  CHECK_THROWS_WITH(file.read("text"), Contains("'text' has text, not numbers"));
  CHECK_THROWS_WITH(file.read("fixed"), Contains("has text"));
  CHECK_THROWS_WITH(file.read("pairs"), Contains("compound"));
  CHECK_THROWS_WITH(file.read("complex"), Contains("compound"));
  CHECK_THROWS_WITH(file.read("null"), Contains("empty"));
  CHECK_THROWS_WITH(file.read("absurd"), Contains("far more"));
  CHECK_THROWS_WITH(file.read("unwritten"), Contains("far more"));
  CHECK_THROWS_WITH(file.read("absent"), Contains(path) && Contains("no dataset 'absent'"));
  CHECK_THROWS_WITH(file.read("deep"), Contains("not a dataset"));
  CHECK_THROWS_WITH(file.read("dangling"), Contains("no dataset"));
  CHECK_THROWS_AS(file.read_slab("single", {2}), InputError);
  CHECK_THROWS_AS(file.read_slab("single", {0, 0, 0}), InputError);
  double row[3];
  CHECK_THROWS_AS(file.read_rows("single", {}, 1, 2, row), InputError);
}

TEST_CASE("files of MATLAB and netCDF are read", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string matlab = scratch / "matlab.mat";
  write_with_python(matlab, R"(
with h5py.File(path, 'w', userblock_size=512) as f:
    f['P'] = np.array([[0.25, 0.75], [0.5, 0.5]])
    f['P'].attrs['MATLAB_class'] = np.bytes_(b'double')
    f['name'] = np.array([[112], [113]], dtype='u2')
    f['name'].attrs['MATLAB_class'] = np.bytes_(b'char')
with open(path, 'r+b') as f:
    f.write(b'MATLAB 7.3 MAT-file')
)");
  CHECK(DataFile(matlab).read("P").values == std::vector<double>{0.25, 0.5, 0.75, 0.5});
  CHECK_THROWS_WITH(DataFile(matlab).read("name"), Contains("has text"));

  const std::string netcdf = scratch / "data.nc";
  write_with_python(netcdf, R"(
import netCDF4
with netCDF4.Dataset(path, 'w') as f:
    f.createDimension('a', 2)
    f.createDimension('b', 3)
    f.createVariable('x', 'f4', ('a', 'b'))[:] = np.arange(6).reshape(2, 3)
    f.title = 'made elsewhere'
)");
  CHECK(DataFile(netcdf).read("x").values == std::vector<double>{0, 1, 2, 3, 4, 5});
  CHECK(DataFile(netcdf).dimensions("x") == std::vector<std::string>{"a", "b"});
  CHECK(DataFile(netcdf).text_attribute("", "title") == "made elsewhere");
}

TEST_CASE("a file that is not HDF5 has its own message", "[file][fast]") {
  const Scratch scratch;
  const auto opening = [](const std::string& path) { return DataFile(path); };
  CHECK_THROWS_AS(opening(scratch / "absent"), InputError);
  CHECK_THROWS_WITH(opening(scratch / "absent"), Contains("absent' does not exist"));
  CHECK_THROWS_WITH(opening(scratch.folder()), Contains("is a folder"));
  put(scratch / "empty", "");
  CHECK_THROWS_WITH(opening(scratch / "empty"), Contains("is empty"));
  put(scratch / "text", std::string(5000, 'x'));
  CHECK_THROWS_WITH(opening(scratch / "text"), Contains("is not an HDF5"));
  put(scratch / "short", "x");
  CHECK_THROWS_WITH(opening(scratch / "short"), Contains("is not an HDF5"));
  put(scratch / "old.nc", "CDF\001 and more");
  CHECK_THROWS_WITH(opening(scratch / "old.nc"), Contains("nccopy"));
  put(scratch / "old.mat", "MATLAB 5.0 MAT-file");
  CHECK_THROWS_WITH(opening(scratch / "old.mat"), Contains("-v7.3"));
  CHECK_THROWS_WITH(opening("/dev/null"), Contains("not a regular file"));
  REQUIRE(mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(opening(scratch / "pipe"), Contains("not a regular file"));
  put(scratch / "secret", "x");
  REQUIRE(chmod((scratch / "secret").c_str(), 0) == 0);
  if (geteuid() != 0) {
    CHECK_THROWS_WITH(opening(scratch / "secret"), Contains("Permission denied"));
  }
}

/// Reads everything in a file through all functions of DataFile.
void read_all(const DataFile& file, const std::string& group, int depth) {
  const auto attempt = [](auto action) {
    try {
      action();
    } catch (const InputError&) {
    }
  };
  const auto attributes = [&](const std::string& object) {
    for (const std::string& name : file.attribute_names(object)) {
      attempt([&] { static_cast<void>(file.text_attribute(object, name)); });
      attempt([&] { static_cast<void>(file.number_attribute(object, name)); });
    }
  };
  attempt([&] { attributes(group); });
  std::vector<std::string> members;
  attempt([&] { members = file.members(group); });
  for (const std::string& member : members) {
    const std::string name = group.empty() ? member : group + "/" + member;
    if (file.has_group(name) && depth < 4) read_all(file, name, depth + 1);
    if (!file.has_dataset(name)) continue;
    attempt([&] { attributes(name); });
    attempt([&] { static_cast<void>(file.dimensions(name)); });
    attempt([&] { static_cast<void>(file.shape(name)); });
    attempt([&] { static_cast<void>(file.read(name)); });
    attempt([&] { static_cast<void>(file.read_slab(name, {0})); });
  }
}

/// Opens and reads a file in a child process, which must either succeed or throw InputError.
void check_survives(const std::string& path) {
  const int status = in_child([&] {
    alarm(20);
    try {
      const DataFile file(path);
      read_all(file, "", 0);
    } catch (const InputError&) {
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss > 1'500'000 ? 2 : 0;
  });
  if (WIFSIGNALED(status)) FAIL("signal " << WTERMSIG(status));
  CHECK(WEXITSTATUS(status) == 0);
}

TEST_CASE("truncated files are refused", "[file][fast]") {
  const Scratch scratch;
  TrajectoryFile::create(scratch / "run.h5", sample_layout(), false);
  const std::string whole = contents(scratch / "run.h5");
  const std::string path = scratch / "cut.h5";
  for (std::size_t size = 1; size < whole.size(); size = size * 3 / 2 + 1) {
    put(path, whole.substr(0, size));
    INFO(size << " bytes");
    CHECK_THROWS_AS(DataFile(path), InputError);
    if (size > 100) CHECK_THROWS_WITH(DataFile(path), Contains("is truncated"));
  }
  put(path, whole.substr(0, whole.size() - 1));
  CHECK_THROWS_WITH(DataFile(path), Contains("is truncated"));
}

/// Changes bytes at random positions of a file.
void damage_many(int seeds) {
  const Scratch scratch;
  TrajectoryFile::create(scratch / "run.h5", sample_layout(), false);
  const std::string whole = contents(scratch / "run.h5");
  for (int seed = 0; seed < seeds; ++seed) {
    std::mt19937 random(static_cast<unsigned>(seed));
    std::string bytes = whole;
    const std::size_t changes = 1 + random() % 20;
    for (std::size_t i = 0; i < changes; ++i) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    put(scratch / "damaged.h5", bytes);
    INFO("seed " << seed);
    check_survives(scratch / "damaged.h5");
  }
}

TEST_CASE("damaged files neither crash the reader nor fill the memory", "[file][forks][fast]") {
  damage_many(150);
}

TEST_CASE("many damaged files neither crash the reader nor fill the memory", "[file][slow]") {
  damage_many(600);
}

TEST_CASE("thousands of damaged files neither crash the reader nor fill the memory",
          "[file][nightly]") {
  damage_many(10'000);
}

TEST_CASE("the file of a running process can be read", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
  for (int save = 0; save < 3; ++save) {
    file.write("loss", static_cast<std::size_t>(save), 1.0 + save);
    CHECK(DataFile(path).read("loss").values[static_cast<std::size_t>(save)] == 1.0 + save);
  }
}

}  // namespace
}  // namespace popflow::file_test
