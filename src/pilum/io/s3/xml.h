// The little XML that S3 answers with: elements, text, character references. No document types, no entities of their own,
// no attributes kept; depth and size are bounded, so hostile answers cost nothing.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "pilum/base/status.h"

namespace pilum::s3 {

struct XmlElement {
  std::string name, text;  // text: of the element itself, decoded
  std::vector<XmlElement> children;

  const XmlElement* Find(std::string_view child) const;  // the first of that name, or null
  std::string TextOf(std::string_view child) const;      // empty where there is none
};

// The root element. kCorrupt with the offset where it is not well formed.
Result<XmlElement> ParseXml(std::string_view text, std::string_view source);

}  // namespace pilum::s3
