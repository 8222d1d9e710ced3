// How one leaf column hangs in its top-level field: the layers from the outside in. Built by the file layer from the
// schema; used by page decoders (unravelling) and page writers (levels). Plain immutable data.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "pilum/base/status.h"
#include "pilum/base/types.h"

namespace pilum {

enum class ShapeLayerKind { kStruct, kList, kLargeList, kMap, kFixedSizeList /* of struct */ };

struct ShapeLayer {
  ShapeLayerKind kind;
  std::shared_ptr<arrow::Field> field;  // the field whose array this layer is, with its full type
  int32_t dimension = 1;                // kFixedSizeList
  int child = 0;                        // kStruct: which child leads on to the leaf (list: 0; map: entries struct 0)
};

// One leaf column (one column of the file from 2.1 on).
struct LeafColumn {
  std::vector<ShapeLayer> layers;      // outermost first; empty for a flat column. A map gives kMap then kStruct.
  std::shared_ptr<arrow::Field> leaf;  // type: primitive, (large) string/binary, FSL of primitives, dictionary,
                                       // packed struct, empty struct, or what is_blob says
  // Blob v1: the page layout is BlobLayout, the value large_binary; or, with is_blob_v2, a struct of position and size,
  // which says where in the file it lies.
  bool is_blob = false;
  bool is_packed = false;   // packed struct: the whole subtree in this one column
  bool is_blob_v2 = false;  // a struct that describes a blob: without is_blob as 2.2 has it: packed, variable
  std::string name;         // dotted, for messages and accounting: "st.a", "tags.item"
  int top_level = 0;        // index of the top-level field
  // Product of the dimensions of FSL<struct> layers: page.length counts rows times this. (They never mix with lists.)
  int64_t items_per_row() const;
  int num_list_layers() const;
};

// All leaf columns of `schema` in column order (depth first), as 2.1+ maps them. Types a Lance file cannot hold give
// kUnsupported naming the field.
Result<std::vector<LeafColumn>> LeafColumnsOf(const arrow::Schema& schema);

// Is the struct `field` packed into one column (its metadata asks: lance-encoding:packed, or legacy packed=true)?
bool IsPackedStruct(const arrow::Field& field);
bool IsBlobField(const arrow::Field& field);
// struct<position: uint64, size: uint64>: where a blob v1 lies, for those who do not want its bytes.
const std::shared_ptr<arrow::DataType>& BlobPlaceType();

// The type of top-level field `column.layers[0]` (or the leaf) with every struct on the way cut down to the one child
// that leads to the leaf. A map on the way becomes a list of its (cut down) entries struct; extension types on the way
// become their storage (the leaf keeps its own).
std::shared_ptr<arrow::Field> PathField(const LeafColumn& column);

}  // namespace pilum
