// Files of unknown origin: links to other files, data that would fill the memory, and contents that
// crash HDF5.

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <limits>

#include "file/hdf5.hpp"
#include "file/in_child.hpp"
#include "file/trajectory_file.hpp"
#include "popflow/data_file.hpp"
#include "popflow/error.hpp"
#include "scratch.hpp"
#include "text/utf8.hpp"

namespace popflow::file_test {
namespace {

using Catch::Contains;

/// Changes the file `path` by lines of Python with h5py, numpy and the open file `f`.
void change(const std::string& path, const std::string& lines, const std::string& mode = "'r+'") {
  const std::string script = path + ".py";
  put(script, "import h5py, numpy as np, os\npath = '" + path + "'\nf = h5py.File(path, " + mode +
                  ")\n" + lines + "\nf.close()\n");
  REQUIRE(python(script) == 0);
  std::filesystem::remove(script);
}

/// Returns the path of a popflow file that lines of Python have changed.
std::string changed(const Scratch& scratch, const std::string& lines,
                    const std::string& name = "run.h5") {
  TrajectoryFile::create(scratch / name, sample_layout(), true);
  change(scratch / name, lines);
  return scratch / name;
}

/// Returns the page faults of all child processes so far. The number grows whenever a child
/// examines a file.
long children_faults() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  return used.ru_minflt;
}

TEST_CASE("links to other files are refused", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  TrajectoryFile::create(scratch / "other.h5", sample_layout(), false);
  const std::string before = contents(scratch / "other.h5");
  put(scratch / "raw", std::string(8 * 7, 'x'));
  REQUIRE(mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  const auto [lines, named, what] = GENERATE(table<std::string, std::string, std::string>(
      {{"del f['problem']; f['problem'] = h5py.ExternalLink('other.h5', '/problem')", "problem",
        "link into another file"},
       {"del f['loss']; f['loss'] = h5py.ExternalLink('pipe', '/loss')", "loss",
        "link into another file"},
       {"f['events/further'] = h5py.ExternalLink('nowhere.h5', '/')", "events/further",
        "link into another file"},
       {"del f['loss']; layout = h5py.VirtualLayout((7,), 'f8')\n"
        "layout[:] = h5py.VirtualSource('other.h5', 'loss', (7,))\n"
        "f.create_virtual_dataset('loss', layout)",
        "loss", "virtual"},
       {"del f['loss']; layout = h5py.VirtualLayout((7,), 'f8', maxshape=(None,))\n"
        "layout[0:7] = h5py.VirtualSource('pipe', 'loss', (7,))\n"
        "f.create_virtual_dataset('loss', layout)",
        "loss", "virtual"},
       {"del f['loss']\n"
        "f.create_dataset('loss', (7,), 'f8', external=[(os.path.dirname(path) + '/raw', 0, "
        "56)])",
        "loss", "another file"}}));
  INFO(lines);
  const std::string path = changed(scratch, lines);
  CHECK_THROWS_AS(DataFile(path), InputError);
  CHECK_THROWS_WITH(DataFile(path),
                    Contains(path) && Contains("'" + named + "'") && Contains(what));
  CHECK_THROWS_WITH(TrajectoryFile::open(path), Contains("'" + named + "'") && Contains(what));
  CHECK(contents(scratch / "other.h5") == before);
}

TEST_CASE("links of an unknown type are refused", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "foreign.h5";
  change(path, "f['x'] = 1.0; f['elsewhere'] = h5py.ExternalLink('other.h5', '/x')", "'w'");
  std::string bytes = contents(path);
  const std::size_t at = bytes.find(
      "\x40\x09"
      "elsewhere");
  REQUIRE(at != std::string::npos);
  bytes[at] = 100;
  put(path, bytes);
  CHECK_THROWS_WITH(DataFile(path), Contains("'elsewhere'") && Contains("user-defined type"));
}

TEST_CASE("a link that appears in an open file is not followed", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  TrajectoryFile::create(scratch / "other.h5", sample_layout(), false);
  const std::string before = contents(scratch / "other.h5");
  TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
  change(path,
         "del f['rung']; f['rung'] = h5py.ExternalLink('other.h5', '/rung')\n"
         "del f['loss']; f['loss'] = h5py.ExternalLink('other.h5', '/loss')");
  // not examined when opened, since this process has the file open for writing
  const DataFile data(path);
  CHECK_THROWS_WITH(data.has_dataset("rung/loss"), Contains("'rung'") && Contains("another file"));
  CHECK_THROWS_WITH(data.read("loss"), Contains("'loss'") && Contains("another file"));
  CHECK_THROWS_WITH(data.members(""), Contains("another file"));
  CHECK_THROWS_AS(file.set_attributes({{"rung", "status", 1.0}}), Error);
  CHECK(contents(scratch / "other.h5") == before);
}

TEST_CASE("links inside the file are followed, also in cycles", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = changed(scratch,
                                   "f['rung/up'] = f['/']; f['soft'] = h5py.SoftLink('/rung')\n"
                                   "f['one'] = h5py.SoftLink('/two')\n"
                                   "f['two'] = h5py.SoftLink('/one')\n"
                                   "f['nowhere'] = h5py.SoftLink('/no/where')\n"
                                   "f['again'] = f['loss']");
  const DataFile file(path);
  CHECK(file.has_dataset("rung/up/rung/up/loss"));
  CHECK(file.has_dataset("soft/loss"));
  CHECK(file.dimensions("soft/loss") == std::vector<std::string>{"time"});
  CHECK(file.read("again").values.size() == 7);
  CHECK_FALSE(file.has_dataset("one"));
  CHECK_FALSE(file.has_dataset("nowhere"));
  CHECK(TrajectoryFile::open(path).has("V"));
}

TEST_CASE("only regular files are opened", "[file][fast]") {
  const Scratch scratch;
  REQUIRE(mkfifo((scratch / "pipe").c_str(), 0600) == 0);
  std::filesystem::create_symlink(scratch / "pipe", scratch / "link");
  alarm(20);
  for (const std::string& path : {scratch / "pipe", scratch / "link", std::string("/dev/null"),
                                  std::string("/dev/zero"), std::string("/dev/tty")}) {
    INFO(path);
    CHECK_THROWS_AS(DataFile(path), InputError);
    CHECK_THROWS_AS(TrajectoryFile::open(path), InputError);
  }
  CHECK_THROWS_WITH(DataFile(scratch.folder()), Contains("is a folder"));
  alarm(0);
}

/// Creates a dataset of zeros that takes a thousandth of its size.
std::string bomb(const Scratch& scratch, std::size_t elements, const std::string& type) {
  const std::string path = scratch / "bomb.h5";
  change(path,
         "f.create_dataset('P', (" + std::to_string(elements) + ",), '" + type +
             "', chunks=(2**22,), compression='gzip', compression_opts=9)\n"
             "block = np.zeros(2**22, '" +
             type +
             "')\n"
             "f['few'] = np.arange(3)\n"
             "for i in range(0, f['P'].size, 2**22): f['P'][i:i + 2**22] = block",
         "'w'");
  return path;
}

TEST_CASE("highly compressed data are read only if the caller expects their size", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::size_t elements = std::size_t{5} << 22;  // 160 MiB of doubles
  const std::string path = bomb(scratch, elements, "f8");
  const DataFile file(path);
  CHECK_THROWS_WITH(file.read("P"),
                    Contains("'P'") && Contains("far more") && Contains("h5repack"));
  CHECK_THROWS_WITH(file.read_slab("P", {}), Contains("far more"));
  CHECK_THROWS_WITH(file.read("P", {elements - 1}),
                    Contains("has shape (20971520)") && Contains("must be (20971519)"));
  CHECK_THROWS_WITH(file.read("P", {4, elements / 4}), Contains("must be (4, 5242880)"));
  CHECK_THROWS_WITH(file.read_at_most("P", 1000), Contains("may have at most 1000 elements"));
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  CHECK(before.ru_maxrss < 400'000);
  CHECK(file.read_at_most("P", elements).values.size() == elements);
  CHECK(file.read("P", {elements}).values.size() == elements);
  CHECK(file.read("few", {3}).integers == std::vector<std::int64_t>{0, 1, 2});
  CHECK(file.read_at_most("few", 3).integers == std::vector<std::int64_t>{0, 1, 2});
  std::vector<double> few(10);
  file.read_rows("P", {}, 7, 10, few.data());
  CHECK(few == std::vector<double>(10, 0.0));
}

TEST_CASE("a very large chunk is not unpacked", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "chunk.h5";
  change(path,
         "f.create_dataset('x', (2**28,), 'i1', chunks=(2**28,), compression='gzip')\n"
         "f['x'][0] = 0",
         "'w'");
  const DataFile file(path);
  double number = 0;
  CHECK_THROWS_WITH(file.read_rows("x", {}, 5, 1, &number), Contains("far more"));
}

TEST_CASE("texts from a file contain no control characters", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = changed(scratch, R"(
f.attrs['title'] = 'a \x1b[31mred\x1b[0m title\u009b2J \u007f\r\n\tnext'
f.attrs.create('system', np.bytes_(b'sc\xff\x07b'))
f.attrs['status_message'] = 'm' * 3_000_000
f['problem/\x1b[2Jname'] = 1.0
f['problem/good'] = 1.0
f['problem'].attrs['\x1b]0;name'] = 1.0
f['scale\x1b[1m'] = np.arange(7.0)
f['scale\x1b[1m'].make_scale('scale')
del f['loss'].attrs['DIMENSION_LIST']
f['loss'].dims[0].attach_scale(f['scale\x1b[1m'])
)");
  const DataFile file(path);
  CHECK(file.text_attribute("", "title") ==
        "a \uFFFD[31mred\uFFFD[0m title\uFFFD2J \uFFFD\uFFFD\n\tnext");
  CHECK(file.text_attribute("", "system") == "sc\uFFFD\uFFFDb");
  CHECK(file.text_attribute("", "status_message") == std::string(65'536, 'm') + "...");
  const std::vector<std::string> members = file.members("problem");
  CHECK(std::ranges::count(members, "good") == 1);
  for (const std::string& name : members) CHECK(name.find('\x1b') == std::string::npos);
  for (const std::string& name : file.attribute_names("problem")) {
    CHECK(name.find('\x1b') == std::string::npos);
  }
  CHECK(file.dimensions("loss") == std::vector<std::string>{"scale\uFFFD[1m"});
  const std::string absent = "ab\x1b[1m\n" + std::string(100'000, 'x');
  try {
    static_cast<void>(file.read(absent));
    FAIL("the dataset exists");
  } catch (const InputError& error) {
    const std::string said = error.what();
    CHECK(said.size() < 1000);
    CHECK(said.find_first_of("\x1b\n") == std::string::npos);
  }
}

TEST_CASE("texts to be parsed are read whole or refused", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const auto with_config = [&](std::size_t bytes) {
    GroupSpec layout = sample_layout();
    layout.groups[1].attributes.back().value = std::string(bytes, 'c');
    TrajectoryFile::create(scratch / "run.h5", layout, true);
    return DataFile(scratch / "run.h5").text_attribute("parameters", "config")->size();
  };
  constexpr std::size_t kMost = std::size_t{16} << 20;
  CHECK(with_config(kMost) == kMost);
  CHECK_THROWS_WITH(with_config(kMost + 1), Contains("'config' of 'parameters'") &&
                                                Contains("16777217 bytes") &&
                                                Contains("at most 16777216"));
}

TEST_CASE("text is made printable", "[file][fast]") {
  CHECK(text::printable("a\tb\nc") == "a\tb\nc");
  CHECK(text::printable(std::string_view("\0\x01\x1f\x7f", 4)) == "\uFFFD\uFFFD\uFFFD\uFFFD");
  CHECK(text::printable("\u0080\u009f\u00a0\u00e9\u2113") == "\uFFFD\uFFFD\u00a0\u00e9\u2113");
  CHECK(text::printable("\xff\xc3") == "\uFFFD\uFFFD");
  CHECK(text::in_sentence("a\nb\tc") == "a\uFFFDb\uFFFDc");
  CHECK(text::in_sentence(std::string(200, 'x')) == std::string(200, 'x'));
  CHECK(text::in_sentence(std::string(201, 'x')) == std::string(200, 'x') + "...");
}

TEST_CASE("work in a child process always ends in a message", "[file][fast]") {
  using How = hdf5::Ended::How;
  const auto held = hdf5::lock();
  CHECK(hdf5::in_child([] {}).how == How::done);
  CHECK(hdf5::in_child([] { raise(SIGSEGV); }).how == How::crashed);
  CHECK(hdf5::in_child([] { std::abort(); }).how == How::crashed);
  CHECK(hdf5::in_child([] { _exit(0); }).how == How::crashed);
  CHECK(hdf5::in_child([] { static_cast<void>(hdf5::lock()); }).how == How::done);
  const hdf5::Ended refused = hdf5::in_child([] { throw InputError("a sentence"); });
  CHECK(refused.how == How::refused);
  CHECK(refused.sentence == "a sentence");
  const hdf5::Ended endless = hdf5::in_child([] {
    const volatile bool for_ever = true;
    while (for_ever) {
    }
  });
  CHECK(endless.how == How::overtime);
}

TEST_CASE("a child process that hangs is replaced by a second one", "[file][fast]") {
  const auto held = hdf5::lock();
  const Scratch scratch;
  const std::string been_here = scratch / "been-here";
  const hdf5::Ended second = hdf5::in_child([&] {
    if (!std::filesystem::exists(been_here)) {
      put(been_here, "");
      while (true) pause();
    }
  });
  CHECK(second.how == hdf5::Ended::How::done);
}

TEST_CASE("lists of scales on which HDF5 crashes are ignored", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string lines = GENERATE(
      as<std::string>{}, "f['loss'].attrs['DIMENSION_LIST'] = 'text'",
      "f['loss'].attrs['DIMENSION_LIST'] = 5.0",
      "f['loss'].attrs['DIMENSION_LIST'] = np.arange(1000)",
      "a = np.empty(40, dtype=object)\n"
      "for i in range(40): a[i] = np.array([f['time'].ref], dtype=h5py.ref_dtype)\n"
      "del f['loss'].attrs['DIMENSION_LIST']\n"
      "f['loss'].attrs.create('DIMENSION_LIST', a, dtype=h5py.vlen_dtype(h5py.ref_dtype))");
  const DataFile file(changed(scratch, lines));
  CHECK(file.dimensions("loss") == std::vector<std::string>{""});
  CHECK(file.read("loss").values.size() == 7);
}

TEST_CASE("marks of a scale on which HDF5 crashes are read", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const DataFile file(changed(scratch, R"(
t = h5py.h5t.C_S1.copy()
t.set_size(16)
t.set_strpad(h5py.h5t.STR_NULLTERM)
del f['time'].attrs['CLASS']
h5py.h5a.create(f['time'].id, b'CLASS', t, h5py.h5s.create_simple((1000,)))
)"));
  CHECK(file.dimensions("time") == std::vector<std::string>{""});
  CHECK(file.dimensions("loss") == std::vector<std::string>{"time"});
}

TEST_CASE("a compact dataset without space for its numbers is refused", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "compact.h5";
  change(path, R"(
plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
plist.set_layout(h5py.h5d.COMPACT)
d = h5py.h5d.create(f.id, b'x', h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((3,)), plist)
d.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([7777.0, 8888.0, 9999.0]))
)",
         "'w'");
  CHECK(DataFile(path).read("x").values == std::vector<double>{7777, 8888, 9999});
  std::string bytes = contents(path);
  const double first = 7777;
  const std::size_t at = bytes.find(std::string(reinterpret_cast<const char*>(&first), 8));
  REQUIRE(at != std::string::npos);
  REQUIRE(bytes.substr(at - 4, 4) == std::string("\3\0\x18\0", 4));  // version, compact, 24 bytes
  bytes[at - 2] = 0;
  put(path, bytes);
  CHECK_THROWS_AS(DataFile(path).read("x"), InputError);
}

TEST_CASE("a file is examined only once", "[file][fast]") {
  const Scratch scratch;
  const std::string path = scratch / "run.h5";
  const auto looked = [&](const std::string& which) {
    const long before = children_faults();
    DataFile{which};
    return children_faults() > before;
  };
  {
    TrajectoryFile file = TrajectoryFile::create(path, sample_layout(), false);
    CHECK_FALSE(looked(path));
    file.write("loss", 0, 1.0);
    file.set_attributes({{"", "status", std::string("complete")}});
    CHECK_FALSE(looked(path));
  }
  CHECK_FALSE(looked(path));
  put(scratch / "copy.h5", contents(path));
  CHECK(looked(scratch / "copy.h5"));
  CHECK_FALSE(looked(scratch / "copy.h5"));
  std::string bytes = contents(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  put(scratch / "copy.h5", bytes);
  CHECK(looked(scratch / "copy.h5"));
  std::filesystem::remove(scratch / "copy.h5");
  put(scratch / "copy.h5", bytes);
  CHECK(looked(scratch / "copy.h5"));
}

TEST_CASE("every storage layout of HDF5 is read", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = scratch / "latest.h5";
  const std::string bounds = GENERATE(as<std::string>{}, "'latest'", "'v110'", "'v108'",
                                      "('earliest', 'v108')", "('v108', 'latest')");
  INFO(bounds);
  change(path, R"(
x = np.arange(60.0).reshape(6, 10)
f['plain'] = x
for name, more in {'single': dict(chunks=(6, 10)), 'fixed': dict(chunks=(2, 3)),
                   'packed': dict(chunks=(2, 3), compression='gzip', shuffle=True, fletcher32=True),
                   'growing': dict(chunks=(2, 3), maxshape=(None, 10)),
                   'both': dict(chunks=(2, 3), maxshape=(None, None)),
                   'whole': dict(chunks=(6, 10), compression='gzip')}.items():
    f.create_dataset(name, data=x, **more)
plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
plist.set_chunk((2, 5))
plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
d = h5py.h5d.create(f.id, b'early', h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((6, 10)), plist)
d.write(h5py.h5s.ALL, h5py.h5s.ALL, x)
g = f.create_group('group', track_order=True)
for i in range(30):
    g['x%d' % i] = float(i)
    g.attrs['a%d' % i] = 'text %d' % i
g['x1'].attrs['large'] = 'l' * 70_000 if f.libver[0] != 'earliest' else 'l'
)",
         "'w', libver=" + bounds);
  const DataFile file(path);
  std::vector<double> expected(60);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = static_cast<double>(i);
  for (const std::string name :
       {"plain", "single", "fixed", "packed", "growing", "both", "whole", "early"}) {
    INFO(name);
    CHECK(file.read(name).values == expected);
    CHECK(file.read_slab(name, {3}) ==
          std::vector<double>(expected.begin() + 30, expected.begin() + 40));
  }
  CHECK(file.members("group").size() == 30);
  CHECK(file.read("group/x17").values == std::vector<double>{17});
  CHECK(file.text_attribute("group", "a23") == "text 23");
}

TEST_CASE(
    "a popflow file rewritten by another program can be continued if its numbers are uncompressed",
    "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  TrajectoryFile::create(scratch / "run.h5", sample_layout(), false);
  const std::string path = scratch / "copy.h5";
  // The copy is made by hand, since the library's own copying crashes on groups with many
  // attributes.
  const std::string copy = R"(
def copy(source, target):
    for name, value in source.attrs.items():
        if name not in ('CLASS', 'NAME', 'DIMENSION_LIST', 'REFERENCE_LIST'):
            target.attrs[name] = value
    for name, item in source.items():
        if isinstance(item, h5py.Group):
            copy(item, target.create_group(name))
        elif name != 'position':
            target.create_dataset(name, data=item[...])
source = h5py.File(')" + (scratch / "run.h5") +
                           "')\ncopy(source, f)\n";
  SECTION("in the newest format") {
    change(path, copy, "'w', libver='latest'");
    TrajectoryFile file = TrajectoryFile::open(path);
    file.require(sample_layout());
    file.write("loss", 1, 0.25);
    file.set_attributes({{"", "status", std::string("complete")},
                         {"", "diverged_at", 1.5},
                         {"parameters", "option-3", 8.0}});
    const DataFile read(path);
    CHECK(read.read("loss").values[1] == 0.25);
    CHECK(read.text_attribute("", "status") == "complete");
    CHECK(read.number_attribute("parameters", "option-3") == 8);
  }
  SECTION("compressed") {
    change(path,
           copy +
               "data = f['V'][...]; del f['V']\n"
               "f.create_dataset('V', data=data, compression='gzip')",
           "'w'");
    const TrajectoryFile file = TrajectoryFile::open(path);
    CHECK_FALSE(file.has("V"));
    CHECK(file.has("loss"));
    CHECK_THROWS_AS(file.require(sample_layout()), InputError);
    CHECK_THROWS_WITH(file.require(sample_layout()),
                      Contains(path) && Contains("'V'") && Contains("h5repack -f NONE -l CONTI"));
  }
}

TEST_CASE("attributes that another program wrote are rewritten", "[file][fast]") {
  if (!have_readers()) return;
  const Scratch scratch;
  const std::string path = changed(scratch, R"(
f.attrs['status'] = 'interrupted'
f.attrs['status_message'] = np.bytes_(b'short')
f.attrs['diverged_at'] = 5
f.attrs['kappa'] = np.float32(0.5)
f.attrs['count'] = 'none'
f.attrs['title'] = np.arange(5)
del f.attrs['outcome']
f['parameters'].attrs['flag'] = True
)");
  TrajectoryFile file = TrajectoryFile::open(path);
  const std::vector<TrajectoryFile::AttributeChange> changes = {
      {"", "status", std::string("complete")},
      {"", "status_message", std::string(300, 'm')},
      {"", "diverged_at", 0.1},
      {"", "kappa", 0.1},
      {"", "count", std::int64_t{1} << 60},
      {"", "title", std::string("words")},
      {"", "outcome", std::string("global")},
      {"parameters", "flag", std::int64_t{0}}};
  const auto check_all = [&] {
    const DataFile read(path);
    CHECK(read.text_attribute("", "status") == "complete");
    CHECK(read.text_attribute("", "status_message") == std::string(300, 'm'));
    CHECK(read.number_attribute("", "diverged_at") == 0.1);
    CHECK(read.number_attribute("", "kappa") == 0.1);
    CHECK(read.number_attribute("", "count") == 0x1p60);
    CHECK(read.text_attribute("", "title") == "words");
    CHECK(read.text_attribute("", "outcome") == "global");
    CHECK(read.number_attribute("parameters", "flag") == 0);
  };
  file.set_attributes(changes);
  check_all();
  const std::string before = contents(path);
  file.set_attributes(changes);  // the file no longer changes
  CHECK(contents(path) == before);
  check_all();
  CHECK(python(readers_script() + " " + path) == 0);
}

}  // namespace
}  // namespace popflow::file_test
