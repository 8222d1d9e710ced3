// How the values of a full-zip page lie in one event, and the sinks that take them. For page/full_zip.cc.
#pragma once

#include "pilum/encoding/codec/codec.h"

namespace pilum::full_zip {

// Takes the values of visible events one after another. Not thread-safe.
class ValueSink {
 public:
  virtual ~ValueSink() = default;
  virtual Status Append(codec::Bytes value) = 0;              // fixed width: exactly the page's bytes a value
  virtual Status AppendRun(codec::Bytes values, uint64_t n);  // fixed width: n values back to back
  // Variable width: values base[begins[i], ends[i]), one behind the other with gaps.
  virtual Status AppendValues(const uint8_t* base, std::span<const uint32_t> begins, std::span<const uint32_t> ends);
  // What comes now is of another page, with a codec of its own. For variable sinks.
  virtual Status TurnTo(const CodecDesc& codec);
  virtual Result<codec::DataBlock> Finish() = 0;
};

// Fixed-width values: flat, fixed-size lists of flat (with validity bytes in front), packed structs.
// `bits` is the page's bits a value; kCorrupt where the codec does not give just that.
Result<std::unique_ptr<ValueSink>> MakeFixedSink(const CodecDesc& codec, uint64_t bits, const codec::DecodeSpec& spec);
// Variable values: each on its own compressed, FSST or plain. `spec.input_bytes`: of all of them, without their lengths.
Result<std::unique_ptr<ValueSink>> MakeVariableSink(const CodecDesc& codec, const codec::DecodeSpec& spec);
// Rows of variable packed structs. `fields`: for each the Arrow type (offsets).
Result<std::unique_ptr<ValueSink>> MakePackedRowSink(const CodecDesc& codec, const arrow::DataType& struct_type,
                                                     const codec::DecodeSpec& spec);

}  // namespace pilum::full_zip
