// What transactions are made of, between Python and C++. Internal to transaction_convert.cc.
#pragma once

#include <string>

#include <nanobind/nanobind.h>

#include "pilum/table/commit/wire.h"

namespace pilum::python {

template <typename T>
using Repeated = google::protobuf::RepeatedPtrField<T>;

std::string BytesFromPython(nanobind::handle bytes);
std::string UuidToText(const wire::Uuid& uuid);
wire::Uuid UuidFromText(const std::string& text);

nanobind::list FragmentsToPython(const Repeated<wire::DataFragment>& fragments);
void FragmentsFromPython(nanobind::handle given, Repeated<wire::DataFragment>* out);
nanobind::list BasesToPython(const Repeated<wire::BasePath>& bases);
void BasesFromPython(nanobind::handle given, Repeated<wire::BasePath>* out);
nanobind::list IndicesToPython(const Repeated<wire::IndexMetadata>& indices);
void IndicesFromPython(nanobind::handle given, Repeated<wire::IndexMetadata>* out);
nanobind::list ReplacementsToPython(const wire::Transaction::DataReplacement& op);
void ReplacementsFromPython(nanobind::handle given, wire::Transaction::DataReplacement* op);

template <typename Numbers>
nanobind::list NumbersToPython(const Numbers& numbers) {
  nanobind::list out;
  for (const auto n : numbers) out.append(n);
  return out;
}
template <typename T>
void NumbersFromPython(nanobind::handle given, google::protobuf::RepeatedField<T>* out) {
  for (nanobind::handle n : nanobind::iter(given)) out->Add(nanobind::cast<T>(n));
}

}  // namespace pilum::python
