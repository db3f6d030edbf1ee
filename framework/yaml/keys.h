#pragma once

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "yaml/document.h"

// The keys of a mapping, declared once: readers, the JSON Schema for editors and the references in
// docs/ follow from the declaration.
namespace assay::yaml {

// A value's schema, and `read`, which takes a reader, the node and optionally the key's name.
template <class Read>
struct Shape {
  nlohmann::json schema;
  Read read;
};

template <class Reader, class Target>
struct Key {
  using Read = std::function<void(Reader&, const Node&, Target&)>;

  Key(std::string key, std::string meaning, nlohmann::json shape, Read how)
      : name(std::move(key)),
        help(std::move(meaning)),
        schema(std::move(shape)),
        read(std::move(how)) {}

  // `set`: a member of the target, or a function of target and value.
  template <class How, class Set>
  Key(std::string key, std::string meaning, const Shape<How>& shape, Set set)
      : Key(key, std::move(meaning), shape.schema,
            [key, how = shape.read, set](Reader& reader, const Node& node, Target& target) {
              const auto value = [&] {
                if constexpr (std::is_invocable_v<How, Reader&, const Node&>) {
                  return std::invoke(how, reader, node);
                } else {
                  return std::invoke(how, reader, node, key);
                }
              };
              if constexpr (std::is_member_object_pointer_v<Set>) {
                target.*set = value();
              } else {
                set(target, value());
              }
            }) {}

  template <class Value>
  Key(std::string key, std::string meaning, Value Target::*member)
      : Key(std::move(key), std::move(meaning),
            usual_shape(static_cast<const Reader*>(nullptr), std::type_identity<Value>()), member) {
  }

  std::string name;
  std::string help;
  nlohmann::json schema;
  Read read;
};

template <class Reader, class Target>
using Keys = std::vector<Key<Reader, Target>>;

template <class Reader, class Target>
Keys<Reader, Target> operator+(Keys<Reader, Target> keys, const Keys<Reader, Target>& more) {
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

// The same keys, for a whole of which the target is a part.
template <class Whole, class Reader, class Part>
Keys<Reader, Whole> within(Part Whole::*part, const Keys<Reader, Part>& keys) {
  Keys<Reader, Whole> all;
  for (const Key<Reader, Part>& key : keys) {
    all.emplace_back(key.name, key.help, key.schema,
                     [part, read = key.read](Reader& reader, const Node& node, Whole& whole) {
                       read(reader, node, whole.*part);
                     });
  }
  return all;
}

template <class Reader, class Target>
std::vector<std::string> names_of(const Keys<Reader, Target>& keys) {
  std::vector<std::string> names;
  for (const Key<Reader, Target>& key : keys) names.push_back(key.name);
  return names;
}

// Reads the entries of a mapping in the order written; calls `unknown` with each undeclared key.
template <class Reader, class Target, class Unknown>
void read_keys(const Keys<Reader, Target>& keys, const Node& mapping, Reader& reader,
               Target& target, const Unknown& unknown) {
  for (const auto& [name, value] : mapping.entries) {
    const auto known =
        std::find_if(keys.begin(), keys.end(),
                     [&, &text = name.text](const auto& key) { return key.name == text; });
    if (known == keys.end()) {
      unknown(name);
    } else {
      known->read(reader, value, target);
    }
  }
}

inline nlohmann::json described(nlohmann::json schema, std::string_view description) {
  schema["description"] = description;
  return schema;
}

inline nlohmann::json object_schema(nlohmann::json properties) {
  return {
      {"type", "object"}, {"properties", std::move(properties)}, {"additionalProperties", false}};
}

template <class Reader, class Target>
nlohmann::json object_schema(const Keys<Reader, Target>& keys) {
  nlohmann::json properties = nlohmann::json::object();
  for (const Key<Reader, Target>& key : keys) {
    properties[key.name] = described(key.schema, key.help);
  }
  return object_schema(std::move(properties));
}

}  // namespace assay::yaml
