// Number of cores that a process may use, from control groups in a made-up root folder.
// (tests/run/threads_test.py tests the affinity mask with the program itself.)

#include "machine/cores.hpp"

#include <cmath>
#include <filesystem>
#include <fstream>

#include "popflow/memory.hpp"
#include "support/catch.hpp"
#include "support/scratch_folder.hpp"

using popflow::quota_of_control_groups;
namespace fs = std::filesystem;

namespace {

/// A root folder with files of given contents.
class Root {
 public:
  void file(const std::string& path, const std::string& contents) const {
    const fs::path full = fs::path(folder_.path()) / path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << contents;
  }
  [[nodiscard]] double memory() const { return popflow::memory_of_control_groups(folder_.path()); }
  [[nodiscard]] double quota() const { return quota_of_control_groups(folder_.path()); }

 private:
  popflow::test::ScratchFolder folder_;
};

const char* const kSecond =
    "25 1 0:22 / /proc rw - proc proc rw\n"
    "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
const char* const kFirst =
    "33 32 0:29 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
    "34 32 0:30 / /sys/fs/cgroup/cpu,cpuacct rw shared:10 - cgroup cgroup rw,cpu,cpuacct\n";

}  // namespace

TEST_CASE("without control groups there is no quota", "[fast]") {
  const Root root;
  CHECK(std::isinf(root.quota()));
}

TEST_CASE("control groups version 2: the quota of the process's own group", "[fast]") {
  const Root root;
  root.file("proc/self/mountinfo", kSecond);
  root.file("proc/self/cgroup", "0::/system.slice/job_7\n");
  CHECK(std::isinf(root.quota()));
  root.file("sys/fs/cgroup/system.slice/job_7/cpu.max", "max 100000\n");
  CHECK(std::isinf(root.quota()));
  root.file("sys/fs/cgroup/system.slice/job_7/cpu.max", "250000 100000\n");
  CHECK(root.quota() == 2.5);
  // The quota of a sibling group is ignored; a smaller one of the parent group counts.
  root.file("sys/fs/cgroup/system.slice/job_8/cpu.max", "10000 100000\n");
  CHECK(root.quota() == 2.5);
  root.file("sys/fs/cgroup/system.slice/cpu.max", "100000 100000\n");
  CHECK(root.quota() == 1);
}

TEST_CASE("control groups version 2: a container that sees its own group as the root", "[fast]") {
  const Root root;
  root.file("proc/self/mountinfo",
            "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
  root.file("sys/fs/cgroup/cpu.max", "50000 100000\n");
  root.file("proc/self/cgroup", "0::/docker/abc\n");
  CHECK(root.quota() == 0.5);
  root.file("proc/self/cgroup", "0::/\n");
  CHECK(root.quota() == 0.5);
  root.file("proc/self/cgroup", "0::/../elsewhere\n");
  CHECK(root.quota() == 0.5);
}

TEST_CASE("control groups limit the memory", "[fast]") {
  const Root root;
  CHECK(std::isinf(root.memory()));
  root.file("proc/self/mountinfo", kSecond);
  root.file("proc/self/cgroup", "0::/system.slice/job_7\n");
  root.file("sys/fs/cgroup/system.slice/job_7/memory.max", "max\n");
  CHECK(std::isinf(root.memory()));
  root.file("sys/fs/cgroup/system.slice/memory.max", "4294967296\n");
  CHECK(root.memory() == 4294967296.0);
  root.file("proc/self/mountinfo", kFirst);
  root.file("proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/\n");
  root.file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "1073741824\n");
  CHECK(root.memory() == 1073741824.0);
  CHECK(popflow::describe_bytes(999997440) == "1 GB");
}

TEST_CASE("control groups version 1: the quota of the cpu controller", "[fast]") {
  const Root root;
  root.file("proc/self/mountinfo", kFirst);
  root.file("proc/self/cgroup", "5:memory:/other\n4:cpu,cpuacct:/slurm/job_7\n0::/\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "-1\n");
  root.file("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_period_us", "100000\n");
  CHECK(std::isinf(root.quota()));
  root.file("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "300000\n");
  CHECK(root.quota() == 3);
}

TEST_CASE("a mount point may have a blank in its name", "[fast]") {
  const Root root;
  root.file("proc/self/mountinfo", "30 23 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  root.file("proc/self/cgroup", "0::/a\n");
  root.file("my groups/a/cpu.max", "400000 100000\n");
  CHECK(root.quota() == 4);
}

TEST_CASE("a process may use at least one core", "[fast]") { CHECK(popflow::usable_cores() >= 1); }
