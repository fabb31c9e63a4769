#pragma once

#include <hdf5.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace popflow::test {

/// Writes plain HDF5 files like a user's own script: datasets and attributes, without scales.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(const std::string& path)
      : file_(check(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT))) {}
  ~Hdf5Writer() { H5Fclose(file_); }
  Hdf5Writer(const Hdf5Writer&) = delete;
  Hdf5Writer& operator=(const Hdf5Writer&) = delete;

  void group(const std::string& name) {
    H5Gclose(check(H5Gcreate2(file_, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT)));
  }

  void dataset(const std::string& name, const std::vector<hsize_t>& shape,
               const std::vector<double>& values) {
    put(name, shape, H5T_NATIVE_DOUBLE, values.data(), values.size());
  }
  void dataset(const std::string& name, const std::vector<hsize_t>& shape,
               const std::vector<long long>& values) {
    put(name, shape, H5T_NATIVE_LLONG, values.data(), values.size());
  }

  void attribute(const std::string& object, const std::string& name, double value) {
    put_attribute(object, name, H5T_NATIVE_DOUBLE, &value);
  }
  void attribute(const std::string& object, const std::string& name, long long value) {
    put_attribute(object, name, H5T_NATIVE_LLONG, &value);
  }
  void attribute(const std::string& object, const std::string& name, const std::string& value) {
    const hid_t type = check(H5Tcopy(H5T_C_S1));
    H5Tset_size(type, H5T_VARIABLE);
    H5Tset_cset(type, H5T_CSET_UTF8);
    const char* text = value.c_str();
    put_attribute(object, name, type, &text);
    H5Tclose(type);
  }

 private:
  static hid_t check(hid_t id) {
    if (id < 0) throw std::runtime_error("HDF5 refused to write a test file");
    return id;
  }

  void put(const std::string& name, const std::vector<hsize_t>& shape, hid_t type,
           const void* values, std::size_t count) {
    const hsize_t size =
        std::accumulate(shape.begin(), shape.end(), hsize_t{1}, std::multiplies<>());
    if (size != count) throw std::runtime_error("a test's " + name + " is not of its shape");
    const hid_t space =
        check(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr));
    const hid_t set =
        check(H5Dcreate2(file_, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    check(H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values));
    H5Dclose(set);
    H5Sclose(space);
  }

  void put_attribute(const std::string& object, const std::string& name, hid_t type,
                     const void* value) {
    const hid_t owner = check(H5Oopen(file_, object.empty() ? "/" : object.c_str(), H5P_DEFAULT));
    const hid_t space = check(H5Screate(H5S_SCALAR));
    const hid_t id = check(H5Acreate2(owner, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT));
    check(H5Awrite(id, type, value));
    H5Aclose(id);
    H5Sclose(space);
    H5Oclose(owner);
  }

  hid_t file_;
};

}  // namespace popflow::test
