// The format is described in the "HDF5 File Format Specification Version 3.0". Names of messages
// and fields are those of that document. The file has these parts, in this order:
//
// - superblock (version 2)
// - object headers (version 2), one for each group and dataset
// - global heap collections: texts of variable length, and rows of DIMENSION_LIST
// - contents of datasets, which the caller writes
//
// A process can be killed between two pages of one write, but an attribute rewritten at the end
// must never leave a torn block. Every chunk of an object header that fits in a page lies within
// one.

#include "file/encoded_layout.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

#include "file/structure.hpp"
#include "text/utf8.hpp"

namespace popflow {

namespace {

using Coordinate = DimensionSpec::Coordinate;

static_assert(std::endian::native == std::endian::little, "numbers are copied as they are");

constexpr std::size_t kPageBytes = 4096;
/// Contents of datasets of at least this size start at a page.
constexpr std::size_t kAlignedBytes = 512;
/// Largest number of attributes of an object, and of members of a group.
constexpr std::size_t kMostMembers = 1000;
/// Number of attributes or members that may be added before HDF5 moves all of them to a heap, where
/// HDF5 finds them faster.
constexpr std::size_t kSpareMembers = 16;
/// Largest attribute; the format's limit is twice as large.
constexpr std::size_t kLargestAttribute = std::size_t{1} << 15;
constexpr std::uint64_t kUndefinedAddress = ~std::uint64_t{0};

// Types of header messages.
constexpr std::uint8_t kDataspace = 0x01, kLinkInfo = 0x02, kDatatype = 0x03, kFillValue = 0x05,
                       kLink = 0x06, kDataLayout = 0x08, kGroupInfo = 0x0A, kAttribute = 0x0C,
                       kContinuation = 0x10, kAttributeInfo = 0x15;
// Flags of header messages.
constexpr std::uint8_t kConstant = 0x01, kNotShared = 0x04;

/// Bytes of a message's prefix: type, size, flags, creation order.
constexpr std::size_t kPrefix = 6;
constexpr std::size_t kContinuationBytes = kPrefix + 16;

using namespace std::string_view_literals;

// Encoded datatypes: class and version, class bits, size, properties.
constexpr std::string_view kFloat64 =
    "\x11\x20\x3f\0\x08\0\0\0\0\0\x40\0\x34\x0b\0\x34\xff\x03\0\0"sv;
constexpr std::string_view kInt64 = "\x10\x08\0\0\x08\0\0\0\0\0\x40\0"sv;
constexpr std::string_view kInt8 = "\x10\x08\0\0\x01\0\0\0\0\0\x08\0"sv;
/// Text of variable length in UTF-8.
constexpr std::string_view kText = "\x19\x01\x01\0\x10\0\0\0\x10\0\0\0\x01\0\0\0\0\0\x08\0"sv;
/// Rows of references to objects.
constexpr std::string_view kReferences = "\x19\0\0\0\x10\0\0\0\x17\0\0\0\x08\0\0\0"sv;
/// Pairs of a reference to a dataset and the index of an axis.
constexpr std::string_view kUses =
    "\x36\x02\0\0\x10\0\0\0"
    "dataset\0\0\x17\0\0\0\x08\0\0\0"
    "dimension\0\x08\x10\x08\0\0\x04\0\0\0\0\0\x20\0"sv;
constexpr std::size_t kUseBytes = 16;
constexpr std::string_view kScalar = "\x02\0\0\0"sv;

template <class Number>
void put(std::string& bytes, Number number) {
  std::array<char, sizeof number> raw{};
  std::memcpy(raw.data(), &number, sizeof number);
  bytes.append(raw.data(), raw.size());
}

void pad_to(std::string& bytes, std::size_t multiple) {
  bytes.resize((bytes.size() + multiple - 1) / multiple * multiple);
}

std::string_view type_bytes(NumberType type) {
  switch (type) {
    case NumberType::float64:
      return kFloat64;
    case NumberType::int64:
      return kInt64;
    case NumberType::int8:
      return kInt8;
  }
  return {};
}

/// Returns the datatype of text of fixed length.
std::string text_type(std::size_t size, bool padded_utf8) {
  std::string type(padded_utf8 ? "\x13\x11\0\0"sv : "\x13\0\0\0"sv);
  put(type, static_cast<std::uint32_t>(size));
  return type;
}

std::string dataspace(const std::vector<std::uint64_t>& extent) {
  if (extent.empty()) return std::string(kScalar);
  std::string space{"\x02"sv};
  space += static_cast<char>(extent.size());
  space += "\x01\x01"sv;  // with largest sizes, which are the present ones
  for (int which = 0; which < 2; ++which)
    for (const std::uint64_t size : extent) put(space, size);
  return space;
}

/// Address that is unknown when it is encoded.
struct Patch {
  std::size_t position;
  enum class To { object, heap, dataset } to;
  std::size_t index;
};

/// Bytes with addresses that are unknown yet.
struct Draft {
  std::string bytes;
  std::vector<Patch> patches;

  void put_address(Patch::To to, std::size_t index) {
    patches.push_back({bytes.size(), to, index});
    put(bytes, kUndefinedAddress);
  }
};

/// Header message in the draft of its object.
struct Message {
  std::uint8_t type;
  std::uint8_t flags;
  std::uint16_t order;  ///< of creation, for attributes
  std::size_t start;
  std::size_t size;
  std::size_t value = 0;  ///< start of an attribute's value in the message
  const Attribute* attribute = nullptr;
};

/// Object header.
struct Object {
  bool is_group = false;
  std::string group;  ///< path, if attributes can be rewritten
  bool rewritten = false;
  Draft draft;
  std::vector<Message> messages;
  std::uint16_t attributes = 0;
  std::size_t info = 0;  ///< index of the attribute info message

  void begin(std::uint8_t type, std::uint8_t flags = 0, std::uint16_t order = 0) {
    messages.push_back({type, flags, order, draft.bytes.size(), 0});
  }
  void end() { messages.back().size = draft.bytes.size() - messages.back().start; }
  void add(std::uint8_t type, std::uint8_t flags, std::string_view body) {
    begin(type, flags);
    draft.bytes += body;
    end();
  }
  /// Begins an attribute; its value follows.
  void begin_attribute(std::string_view name, std::string_view type, std::string_view space) {
    begin(kAttribute, 0, attributes++);
    std::string& bytes = draft.bytes;
    bytes += "\x03\0"sv;  // version, flags
    put(bytes, static_cast<std::uint16_t>(name.size() + 1));
    put(bytes, static_cast<std::uint16_t>(type.size()));
    put(bytes, static_cast<std::uint16_t>(space.size()));
    bytes += '\0';  // ASCII, as HDF5 calls UTF-8 names by default
    bytes += name;
    bytes += '\0';
    bytes += type;
    bytes += space;
    messages.back().value = bytes.size() - messages.back().start;
  }
};

/// Global heap collections. HDF5 makes them as large as a page, or as their only object.
class Heap {
 public:
  /// Adds an object, and puts its identifier (address of its collection, index) at the end of
  /// `draft`.
  void add(std::string_view contents, Draft& draft) { (void)add_object(contents, draft); }
  /// Adds the address of an object as an object of the heap.
  void add_reference(std::size_t object, Draft& draft) {
    Draft& collection = add_object("\0\0\0\0\0\0\0\0"sv, draft);
    collection.patches.push_back({collection.bytes.size() - 8, Patch::To::object, object});
  }
  /// Completes the last collection.
  void finish() {
    if (!collections_.empty()) close(collections_.back());
  }
  [[nodiscard]] std::vector<Draft>& collections() { return collections_; }

 private:
  static constexpr std::size_t kObjectPrefix = 16;

  Draft& add_object(std::string_view contents, Draft& draft) {
    const std::size_t bytes = kObjectPrefix + (contents.size() + 7) / 8 * 8;
    if (collections_.empty() || collections_.back().bytes.size() + bytes > kPageBytes ||
        index_ == std::numeric_limits<std::uint16_t>::max()) {
      finish();
      collections_.emplace_back().bytes = "GCOL\x01\0\0\0\0\0\0\0\0\0\0\0"sv;
      index_ = 0;
    }
    Draft& collection = collections_.back();
    put(collection.bytes, ++index_);
    collection.bytes.append(6, '\0');  // no references counted, reserved
    put(collection.bytes, std::uint64_t{contents.size()});
    collection.bytes += contents;
    pad_to(collection.bytes, 8);
    draft.put_address(Patch::To::heap, collections_.size() - 1);
    put(draft.bytes, std::uint32_t{index_});
    return collection;
  }

  static void close(Draft& collection) {
    const std::size_t used = collection.bytes.size();
    const std::size_t size = std::max(used, kPageBytes);
    const std::size_t free = size - used;
    if (free >= kObjectPrefix) {
      collection.bytes.append(8, '\0');  // object 0 is the free space
      put(collection.bytes, std::uint64_t{free});
    }
    collection.bytes.resize(size);
    put_at(collection.bytes, 8, std::uint64_t{size});
  }

  std::vector<Draft> collections_;
  std::uint16_t index_ = 0;
};

class Encoder {
 public:
  EncodedLayout encode(const GroupSpec& root) {
    layout_.bytes = "\x89HDF\r\n\x1a\n\x02\x08\x08\0"sv;
    layout_.bytes.resize(kSuperblock);
    const std::size_t root_object = add_group({root}, "");
    for (const auto& [dimension, scale] : scales_) list_uses(scale);
    heap_.finish();
    for (Object& object : objects_) emit(object);
    for (Draft& collection : heap_.collections()) emit(collection);
    place_datasets();
    patch_addresses();
    std::string& bytes = layout_.bytes;
    put_at(bytes, 12, std::uint64_t{0});  // base address
    put_at(bytes, 20, kUndefinedAddress);
    put_at(bytes, 28, layout_.size);
    put_at(bytes, 36, std::uint64_t{addresses_[root_object]});
    chunks_.push_back({0, kSuperblock});
    for (const auto& [start, size] : chunks_) {
      const std::size_t covered = size - kChecksumBytes;
      put_at(bytes, start + covered, metadata_checksum({bytes.data() + start, covered}));
    }
    for (AttributeBlocks::Block& block : layout_.attributes.blocks)
      block.bytes.assign(bytes, block.offset, block.bytes.size());
    return std::move(layout_);
  }

 private:
  static constexpr std::size_t kSuperblock = 48;

  std::size_t new_object() {
    objects_.emplace_back();
    return objects_.size() - 1;
  }

  std::size_t add_group(const Scope& scope, const std::string& path) {
    const std::size_t index = new_object();
    {
      Object& object = objects_[index];
      object.is_group = true;
      object.group = path;
      object.rewritten = std::ranges::any_of(scope.group.attributes,
                                             [](const Attribute& a) { return a.reserved > 0; });
    }
    std::vector<std::pair<std::string_view, std::size_t>> members;
    for (const DimensionSpec& dimension : scope.group.dimensions)
      members.emplace_back(dimension.name, add_dimension(dimension, path));
    for (const VariableSpec& variable : scope.group.variables)
      members.emplace_back(variable.name, add_variable(variable, scope, path));
    for (const GroupSpec& inner : scope.group.groups)
      members.emplace_back(inner.name, add_group({inner, &scope}, join(path, inner.name)));
    Object& object = objects_[index];
    add_links(object, members);
    add_attribute_info(object);
    add_attributes(object, scope.group.attributes);
    return index;
  }

  static void add_links(Object& group,
                        const std::vector<std::pair<std::string_view, std::size_t>>& members) {
    std::string& bytes = group.draft.bytes;
    group.begin(kLinkInfo);
    bytes += "\0\x03"sv;  // version; order of creation tracked and indexed
    put(bytes, std::uint64_t{members.size()});
    for (int address = 0; address < 3; ++address) put(bytes, kUndefinedAddress);
    group.end();
    group.begin(kGroupInfo, kConstant);
    bytes += "\0\x01"sv;  // version; with limits of links in the header
    put(bytes,
        static_cast<std::uint16_t>(members.size() + kSpareMembers));  // most links in the header
    put(bytes, std::uint16_t{0});                                     // fewest links in a heap
    group.end();
    std::uint64_t order = 0;
    for (const auto& [name, object] : members) {
      const bool is_long = name.size() > std::numeric_limits<std::uint8_t>::max();
      group.begin(kLink);
      bytes += is_long ? "\x01\x05"sv : "\x01\x04"sv;  // version; order, bytes of the length
      put(bytes, order++);
      if (is_long)
        put(bytes, static_cast<std::uint16_t>(name.size()));
      else
        put(bytes, static_cast<std::uint8_t>(name.size()));
      bytes += name;
      group.draft.put_address(Patch::To::object, object);
      group.end();
    }
  }

  std::size_t add_dimension(const DimensionSpec& dimension, const std::string& path) {
    const std::size_t index = new_object();
    Object& object = objects_[index];
    const bool stored = dimension.coordinate != Coordinate::none;
    const NumberType type = stored ? type_of(dimension.coordinate) : NumberType::int8;
    if (stored)
      layout_.places.push_back(
          {join(path, dimension.name), 0, dimension.size, type, nullptr, &dimension});
    describe(object, {dimension.size}, type, dimension.size, stored);
    add_text(object, "CLASS", "DIMENSION_SCALE");
    add_text(object, "NAME", stored ? dimension.name : scale_without_coordinate(dimension.size));
    // As with the library, a dimension without coordinates has no further attributes.
    if (stored) add_attributes(object, dimension.attributes);
    scales_[&dimension] = index;
    return index;
  }

  std::size_t add_variable(const VariableSpec& variable, const Scope& scope,
                           const std::string& path) {
    const std::size_t index = new_object();
    Object& object = objects_[index];
    std::vector<std::uint64_t> extent;
    std::vector<std::size_t> scales;
    for (const std::string& name : variable.dimensions) {
      const DimensionSpec& dimension = scope.dimension(name);
      extent.push_back(dimension.size);
      scales.push_back(scales_.at(&dimension));
    }
    const std::size_t count = scope.count(variable);
    layout_.places.push_back(
        {join(path, variable.name), 0, count, variable.type, &variable, nullptr});
    describe(object, extent, variable.type, count, true);
    if (!scales.empty()) {
      object.begin_attribute("DIMENSION_LIST", kReferences, dataspace({scales.size()}));
      for (std::size_t axis = 0; axis < scales.size(); ++axis) {
        put(object.draft.bytes, std::uint32_t{1});  // length of the row
        heap_.add_reference(scales[axis], object.draft);
        uses_[scales[axis]].emplace_back(index, axis);
      }
      object.end();
    }
    add_attributes(object, variable.attributes);
    return index;
  }

  /// Adds the messages of a dataset: extent, type, fill value, place. The last place is the
  /// dataset's, if it is stored.
  void describe(Object& object, const std::vector<std::uint64_t>& extent, NumberType type,
                std::size_t count, bool stored) {
    object.add(kDataspace, kConstant, dataspace(extent));
    object.add(kDatatype, kConstant, type_bytes(type));
    // Version; allocated early and never filled, or late and filled if a value is set.
    object.add(kFillValue, kConstant, stored ? "\x03\x05"sv : "\x03\x0a"sv);
    object.begin(kDataLayout, stored ? kConstant : std::uint8_t{0});
    object.draft.bytes += "\x03\x01"sv;  // version; contiguous
    if (stored)
      object.draft.put_address(Patch::To::dataset, layout_.places.size() - 1);
    else
      put(object.draft.bytes, kUndefinedAddress);
    put(object.draft.bytes, std::uint64_t{count * bytes_of(type)});
    object.end();
    add_attribute_info(object);
  }

  static void add_attribute_info(Object& object) {
    object.info = object.messages.size();
    object.begin(kAttributeInfo, kNotShared);
    object.draft.bytes += "\0\x01\0\0"sv;  // version; order of creation tracked; number made
    for (int address = 0; address < 2; ++address) put(object.draft.bytes, kUndefinedAddress);
    object.end();
  }

  /// Adds text of fixed length as HDF5's functions of dimension scales do.
  static void add_text(Object& object, std::string_view name, const std::string& text) {
    object.begin_attribute(name, text_type(text.size() + 1, false), kScalar);
    object.draft.bytes += text;
    object.draft.bytes += '\0';
    object.end();
  }

  void add_attributes(Object& object, const std::vector<Attribute>& attributes) {
    for (const Attribute& attribute : attributes) {
      std::visit([&](const auto& value) { add_value(object, attribute, value); }, attribute.value);
      object.messages.back().attribute = &attribute;
      object.end();
    }
  }

  void add_value(Object& object, const Attribute& attribute, const std::string& text) {
    const std::string valid = text::as_utf8(text);
    if (attribute.reserved > 0) {
      object.begin_attribute(attribute.name, text_type(attribute.reserved, true), kScalar);
      const std::string_view cut = text::cut_utf8(valid, attribute.reserved);
      object.draft.bytes += cut;
      object.draft.bytes.append(attribute.reserved - cut.size(), '\0');
    } else {
      object.begin_attribute(attribute.name, kText, kScalar);
      put(object.draft.bytes, static_cast<std::uint32_t>(valid.size()));
      heap_.add(valid, object.draft);
    }
  }
  template <class Number>
  void add_value(Object& object, const Attribute& attribute, Number value) {
    object.begin_attribute(attribute.name, type_bytes(number_type<Number>()), kScalar);
    put(object.draft.bytes, value);
  }
  template <class Number>
  void add_value(Object& object, const Attribute& attribute, const std::vector<Number>& values) {
    object.begin_attribute(attribute.name, type_bytes(number_type<Number>()),
                           dataspace({values.size()}));
    object.draft.bytes.append(reinterpret_cast<const char*>(values.data()),
                              values.size() * sizeof(Number));
  }
  template <class Number>
  static constexpr NumberType number_type() {
    if constexpr (std::is_same_v<Number, double>) return NumberType::float64;
    if constexpr (std::is_same_v<Number, std::int64_t>) return NumberType::int64;
    return NumberType::int8;
  }

  /// Adds the list of the datasets that use a scale.
  void list_uses(std::size_t scale) {
    const auto& uses = uses_[scale];
    if (uses.empty()) return;
    Object& object = objects_[scale];
    object.begin_attribute("REFERENCE_LIST", kUses, dataspace({uses.size()}));
    for (const auto& [dataset, axis] : uses) {
      object.draft.put_address(Patch::To::object, dataset);
      put(object.draft.bytes, static_cast<std::uint64_t>(axis));  // four bytes, and four unused
    }
    object.end();
  }

  /// Writes an object header: a first chunk, and as many further ones as its messages need.
  void emit(Object& object) {
    put_at(object.draft.bytes, object.messages[object.info].start + 2, object.attributes);
    const bool limits = object.is_group || object.attributes > kUsualAttributes;
    std::size_t next = 0;
    std::size_t link = 0;  // place of the address of the present chunk in the one before
    for (bool first = true; next < object.messages.size(); first = false) {
      const std::size_t prefix = first ? (limits ? 12 : 8) : 4;
      const std::size_t overhead = prefix + kChecksumBytes;
      std::size_t end = next;
      std::size_t size = overhead;
      while (end < object.messages.size()) {
        const std::size_t bytes = kPrefix + object.messages[end].size;
        const bool is_last = end + 1 == object.messages.size();
        const std::size_t most = kPageBytes - (is_last ? 0 : kContinuationBytes);
        if (end > next && size + bytes > most) break;
        size += bytes;
        ++end;
      }
      const bool continued = end < object.messages.size();
      if (continued) size += kContinuationBytes;
      const std::size_t start = place_block(size);
      if (first) {
        addresses_.push_back(start);
        begin_header(object, limits, size - overhead);
      } else {
        put_at(layout_.bytes, link, std::uint64_t{start});
        put_at(layout_.bytes, link + 8, std::uint64_t{size});
        layout_.bytes += "OCHK"sv;
      }
      for (; next < end; ++next) emit(object, object.messages[next], start, size);
      if (continued) {
        put_prefix({kContinuation, 0, 0, 0, kContinuationBytes - kPrefix});
        link = layout_.bytes.size();
        layout_.bytes.append(kContinuationBytes - kPrefix, '\0');
      }
      layout_.bytes.append(kChecksumBytes, '\0');
      chunks_.push_back({start, size});
    }
    emitted_patches_ = 0;
  }

  void begin_header(const Object& object, bool limits, std::size_t messages) {
    layout_.bytes += "OHDR\x02"sv;
    // Size of the chunk in two bytes; order of attributes tracked; limits of attributes in headers.
    layout_.bytes += limits ? '\x15' : '\x05';
    if (limits) {
      put(layout_.bytes, static_cast<std::uint16_t>(object.attributes + kSpareMembers));
      put(layout_.bytes, std::uint16_t{0});
    }
    put(layout_.bytes, static_cast<std::uint16_t>(messages));
  }

  /// Pads the file so that a block of `size` bytes lies within a page, if it fits in one, and else
  /// starts at a page. Returns the block's place.
  std::size_t place_block(std::size_t size) {
    pad_to(layout_.bytes, 8);
    if (layout_.bytes.size() % kPageBytes + size > kPageBytes) pad_to(layout_.bytes, kPageBytes);
    return layout_.bytes.size();
  }

  void put_prefix(const Message& message) {
    layout_.bytes += static_cast<char>(message.type);
    put(layout_.bytes, static_cast<std::uint16_t>(message.size));
    layout_.bytes += static_cast<char>(message.flags);
    put(layout_.bytes, message.order);
  }

  void emit(const Object& object, const Message& message, std::size_t chunk, std::size_t size) {
    put_prefix(message);
    const std::size_t start = layout_.bytes.size();
    layout_.bytes.append(object.draft.bytes, message.start, message.size);
    const std::vector<Patch>& patches = object.draft.patches;
    for (; emitted_patches_ < patches.size(); ++emitted_patches_) {
      const Patch& patch = patches[emitted_patches_];
      if (patch.position >= message.start + message.size) break;
      patches_.push_back({patch.position - message.start + start, patch.to, patch.index});
    }
    if (object.rewritten && message.attribute != nullptr && size <= kPageBytes)
      note_field(object.group, message, start - chunk, chunk, size);
  }

  void note_field(const std::string& group, const Message& message, std::size_t start,
                  std::size_t chunk, std::size_t size) {
    using Kind = AttributeBlocks::Field::Kind;
    const Attribute& attribute = *message.attribute;
    Kind kind = Kind::text;
    if (std::holds_alternative<double>(attribute.value)) {
      kind = Kind::float64;
    } else if (std::holds_alternative<std::int64_t>(attribute.value)) {
      kind = Kind::int64;
    } else if (attribute.reserved == 0) {
      return;
    }
    std::vector<AttributeBlocks::Block>& blocks = layout_.attributes.blocks;
    if (blocks.empty() || blocks.back().offset != chunk)
      blocks.push_back({chunk, std::string(size, '\0')});
    layout_.attributes.fields.push_back({group, attribute.name, kind, blocks.size() - 1,
                                         start + message.value, message.size - message.value});
  }

  void emit(const Draft& collection) {
    pad_to(layout_.bytes, kPageBytes);
    const std::size_t start = layout_.bytes.size();
    heaps_.push_back(start);
    layout_.bytes += collection.bytes;
    for (const Patch& patch : collection.patches)
      patches_.push_back({patch.position + start, patch.to, patch.index});
  }

  /// Places the contents of datasets: small ones side by side, then the others at pages.
  void place_datasets() {
    std::uint64_t end = (layout_.bytes.size() + 7) / 8 * 8;
    for (const bool aligned : {false, true}) {
      for (DatasetPlace& place : layout_.places) {
        const std::uint64_t bytes = std::uint64_t{place.count} * bytes_of(place.type);
        if ((bytes >= kAlignedBytes) != aligned) continue;
        const std::uint64_t multiple = aligned ? kPageBytes : 8;
        place.offset = (end + multiple - 1) / multiple * multiple;
        end = place.offset + bytes;
      }
    }
    layout_.size = end;
  }

  void patch_addresses() {
    for (const Patch& patch : patches_) {
      std::uint64_t address = 0;
      switch (patch.to) {
        case Patch::To::object:
          address = addresses_[patch.index];
          break;
        case Patch::To::heap:
          address = heaps_[patch.index];
          break;
        case Patch::To::dataset:
          address = layout_.places[patch.index].offset;
          break;
      }
      put_at(layout_.bytes, patch.position, address);
    }
  }

  /// Number of attributes that HDF5 keeps in an object header unless told otherwise.
  static constexpr std::size_t kUsualAttributes = 8;

  EncodedLayout layout_;
  std::vector<Object> objects_;
  Heap heap_;
  std::map<const DimensionSpec*, std::size_t> scales_;                            ///< objects
  std::map<std::size_t, std::vector<std::pair<std::size_t, std::size_t>>> uses_;  ///< of scales
  std::vector<std::uint64_t> addresses_;                                          ///< of objects
  std::vector<std::uint64_t> heaps_;  ///< addresses of collections
  std::vector<Patch> patches_;
  std::size_t emitted_patches_ = 0;
  std::vector<std::pair<std::size_t, std::size_t>> chunks_;  ///< start and size, with checksum
};

/// Returns a bound of the bytes of an attribute in its object header.
std::size_t bytes_in_header(const Attribute& attribute) {
  const std::size_t value = std::visit(
      [&]<class Value>(const Value& numbers) -> std::size_t {
        if constexpr (std::is_same_v<Value, std::string>)
          return attribute.reserved;
        else if constexpr (requires { numbers.size(); })
          return numbers.size() * sizeof(typename Value::value_type);
        else
          return sizeof numbers;
      },
      attribute.value);
  return attribute.name.size() + value;
}

bool fits(const std::vector<Attribute>& attributes) {
  return attributes.size() <= kMostMembers &&
         std::ranges::all_of(attributes, [](const Attribute& attribute) {
           return bytes_in_header(attribute) <= kLargestAttribute;
         });
}

/// Counts the uses of each dimension, which are an attribute of its scale.
void count_uses(const Scope& scope, std::map<const DimensionSpec*, std::size_t>& uses) {
  for (const VariableSpec& variable : scope.group.variables)
    for (const std::string& name : variable.dimensions) ++uses[&scope.dimension(name)];
  for (const GroupSpec& inner : scope.group.groups) count_uses({inner, &scope}, uses);
}

bool fits(const GroupSpec& group) {
  const std::size_t members =
      group.dimensions.size() + group.variables.size() + group.groups.size();
  return members <= kMostMembers && fits(group.attributes) &&
         std::ranges::all_of(group.dimensions,
                             [](const auto& dimension) { return fits(dimension.attributes); }) &&
         std::ranges::all_of(group.variables,
                             [](const auto& variable) { return fits(variable.attributes); }) &&
         std::ranges::all_of(group.groups, [](const auto& inner) { return fits(inner); });
}

}  // namespace

NumberType type_of(Coordinate coordinate) {
  switch (coordinate) {
    case Coordinate::values:
      return NumberType::float64;
    case Coordinate::flags:
      return NumberType::int8;
    case Coordinate::none:
    case Coordinate::index:
    case Coordinate::wholes:
      break;
  }
  return NumberType::int64;
}

std::string scale_without_coordinate(std::size_t size) {
  char text[80];
  std::snprintf(text, sizeof text, "This is a netCDF dimension but not a netCDF variable. %10zu",
                size);
  return text;
}

std::optional<EncodedLayout> encode_layout(const GroupSpec& root) {
  std::map<const DimensionSpec*, std::size_t> uses;
  count_uses({root}, uses);
  const bool few_uses = std::ranges::all_of(
      uses, [](const auto& use) { return use.second * kUseBytes <= kLargestAttribute; });
  if (!few_uses || !fits(root)) return std::nullopt;
  return Encoder().encode(root);
}

}  // namespace popflow
