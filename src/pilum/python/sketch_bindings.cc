// pilum._pilum.Hll, Bloom ...: the sketches. The Python classes over them are in pilum/sketch.py.
#include <mutex>

#include <arrow/api.h>
#include <arrow/python/pyarrow.h>
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "pilum/python/bindings.h"
#include "pilum/python/errors.h"
#include "pilum/python/run.h"
#include "pilum/sketch/bloom.h"
#include "pilum/sketch/count_min.h"
#include "pilum/sketch/cuckoo.h"
#include "pilum/sketch/fuse.h"
#include "pilum/sketch/heavy_hitters.h"
#include "pilum/sketch/hll.h"
#include "pilum/sketch/kll.h"
#include "pilum/sketch/min_hash.h"
#include "pilum/sketch/moments.h"
#include "pilum/sketch/probe_array.h"
#include "pilum/sketch/sort_keys.h"
#include "pilum/sketch/t_digest.h"
#include "pilum/sketch/value_hash.h"

namespace nb = nanobind;

namespace pilum::python {
namespace {

// A sketch that any thread may use: work runs without the GIL, under a lock of its own.
template <typename S>
class Held {
 public:
  explicit Held(S sketch) : sketch_(std::move(sketch)) {}

  template <typename F>
  auto With(F f) {
    nb::gil_scoped_release unlocked;
    std::lock_guard held(mutex_);
    return f(sketch_);
  }
  S Copy() {
    return With([](S& s) { return s; });
  }

 private:
  std::mutex mutex_;
  S sketch_;
};

std::shared_ptr<arrow::Array> ArrayFromPython(nb::handle array) {
  auto out = arrow::py::unwrap_array(array.ptr());
  if (!out.ok()) throw nb::type_error("expected a pyarrow.Array");
  return *out;
}

nb::object ToPythonArray(const std::shared_ptr<arrow::Array>& array) {
  PyObject* out = arrow::py::wrap_array(array);
  if (out == nullptr) RaisePending();
  return nb::steal(out);
}

nb::tuple ToPythonEstimate(const Estimate& e) { return nb::make_tuple(e.value, e.low, e.high, e.confidence); }

// int, float, decimal.Decimal, str (what is not UTF-8 with surrogates) or bytes.
nb::object ToPythonValue(const Value& v, int32_t scale) {
  PyObject* out = nullptr;
  switch (v.domain()) {
    case Domain::kInt: out = PyLong_FromString(v.ToString().c_str(), nullptr, 10); break;
    case Domain::kFloat: out = PyFloat_FromDouble(v.as_float()); break;
    case Domain::kDecimal: {
      const std::string text = fmt::format("{}E{}", v.as_decimal().ToIntegerString(), -scale);
      return nb::module_::import_("decimal").attr("Decimal")(text);
    }
    case Domain::kText:
      out = PyUnicode_DecodeUTF8(v.as_bytes().data(), static_cast<Py_ssize_t>(v.as_bytes().size()), "surrogateescape");
      break;
    default: out = PyBytes_FromStringAndSize(v.as_bytes().data(), static_cast<Py_ssize_t>(v.as_bytes().size()));
  }
  if (out == nullptr) RaisePending();
  return nb::steal(out);
}

nb::object ToPythonValue(const std::optional<Value>& v, int32_t scale) {
  return v ? ToPythonValue(*v, scale) : nb::none();
}

// What all have. Merging two threads' sketches into each other cannot lock up: the other is copied first.
template <typename S>
nb::class_<Held<S>> BindOne(nb::module_& m, const char* name) {
  using H = Held<S>;
  return nb::class_<H>(m, name)
      .def("update",
           [](H& h, nb::handle array) {
             const auto rows = ArrayFromPython(array);
             Check(h.With([&](S& s) { return s.Update(*rows); }));
           })
      .def("merge",
           [](H& h, H& other) {
             const S theirs = other.Copy();
             Check(h.With([&](S& s) { return s.Merge(theirs); }));
           })
      .def(
          "copy", [](H& h) { return new H(h.Copy()); }, nb::rv_policy::take_ownership)
      .def("params", [](H& h) { return std::string(h.Copy().params().ToString()); })
      .def("to_bytes",
           [](H& h) {
             const std::string out = h.With([](S& s) { return s.ToBytes(); });
             return nb::bytes(out.data(), out.size());
           })
      .def_static(
          "from_bytes",
          [](nb::bytes bytes) {
            return new H(Unwrap(S::FromBytes(std::string_view(bytes.c_str(), bytes.size()), "bytes")));
          },
          nb::rv_policy::take_ownership);
}

template <typename S>
Held<S>* Make(const typename S::Params& params) {
  return new Held<S>(Unwrap(S::Empty(params)));
}

template <typename S>
nb::object ContainsEach(Held<S>& h, nb::handle array) {
  const auto rows = ArrayFromPython(array);
  return ToPythonArray(Unwrap(h.With([&](S& s) { return MayContainEach(s, *rows); })));
}

nb::object CountsOf(Held<CountMin>& h, nb::handle array) {
  const auto rows = ArrayFromPython(array);
  auto counts = h.With([&](CountMin& s) -> Result<std::shared_ptr<arrow::Array>> {
    arrow::Int64Builder out;
    PILUM_RETURN_NOT_OK(out.Reserve(rows->length()));
    PILUM_RETURN_NOT_OK(VisitHashes(*rows, 0, [&](const HashBlock& block) {
      for (size_t i = 0; i < block.hashes.size(); ++i) {
        while (out.length() < block.row(i)) out.UnsafeAppendNull();
        out.UnsafeAppend(static_cast<int64_t>(s.Count(block.hashes[i]).value));
      }
    }));
    while (out.length() < rows->length()) out.UnsafeAppendNull();
    return out.Finish();
  });
  return ToPythonArray(Unwrap(std::move(counts)));
}

nb::list TopOf(Held<HeavyHitters>& h, uint64_t n) {
  nb::list out;
  for (const auto& item : h.With([&](HeavyHitters& s) { return s.Top(n); })) {
    const auto parsed = ParseHashBytes(item.hash_bytes);
    if (!parsed) continue;
    out.append(nb::make_tuple(ToPythonValue(parsed->value, parsed->scale), item.low, item.high, item.truncated));
  }
  return out;
}

void BindFilters(nb::module_& m) {
  using namespace nb::literals;
  BindOne<BloomFilter>(m, "Bloom")
      .def_static(
          "make", [](uint32_t blocks) { return Make<BloomFilter>({blocks}); }, "blocks"_a)
      .def_static("blocks_for", [](uint64_t items) { return BloomFilter::BlocksForItems(items); })
      .def("contains", ContainsEach<BloomFilter>);
  BindOne<CuckooFilter>(m, "Cuckoo")
      .def_static(
          "make", [](uint32_t items) { return Make<CuckooFilter>({items}); }, "items"_a)
      .def("size", [](Held<CuckooFilter>& h) { return h.With([](auto& s) { return s.size(); }); })
      .def("rate", [](Held<CuckooFilter>& h) { return h.With([](auto& s) { return s.FalsePositiveRate(); }); })
      .def("contains", ContainsEach<CuckooFilter>);
  BindOne<FuseFilter>(m, "Fuse")
      .def_static(
          "make", [](uint32_t bits) { return Make<FuseFilter>({bits}); }, "bits"_a)
      .def("seal", [](Held<FuseFilter>& h) { Check(h.With([](auto& s) { return s.Seal(); })); })
      .def("sealed", [](Held<FuseFilter>& h) { return h.With([](auto& s) { return s.sealed(); }); })
      .def("size", [](Held<FuseFilter>& h) { return h.With([](auto& s) { return s.size(); }); })
      .def("rate", [](Held<FuseFilter>& h) { return h.With([](auto& s) { return s.FalsePositiveRate(); }); })
      .def("contains", ContainsEach<FuseFilter>);
}

void BindCounts(nb::module_& m) {
  using namespace nb::literals;
  BindOne<Hll>(m, "Hll")
      .def_static(
          "make",
          [](uint32_t p, uint64_t seed) {
            return Make<Hll>({p, seed});
          },
          "p"_a, "seed"_a)
      .def("count", [](Held<Hll>& h) { return ToPythonEstimate(h.With([](auto& s) { return s.Count(); })); })
      .def("standard_error", [](Held<Hll>& h) { return h.With([](auto& s) { return s.StandardError(); }); })
      .def("sparse", [](Held<Hll>& h) { return h.With([](auto& s) { return s.sparse(); }); });
  BindOne<MinHash>(m, "MinHash")
      .def_static(
          "make",
          [](uint32_t k, uint64_t seed) {
            return Make<MinHash>({k, seed});
          },
          "k"_a, "seed"_a)
      .def("count", [](Held<MinHash>& h) { return ToPythonEstimate(h.With([](auto& s) { return s.Count(); })); })
      .def("jaccard", [](Held<MinHash>& h, Held<MinHash>& other) {
        const MinHash theirs = other.Copy();
        return ToPythonEstimate(Unwrap(h.With([&](auto& s) { return s.Jaccard(theirs); })));
      });
  BindOne<CountMin>(m, "CountMin")
      .def_static(
          "make",
          [](uint32_t width, uint32_t depth, bool conservative, uint64_t seed) {
            return Make<CountMin>({width, depth, conservative, seed});
          },
          "width"_a, "depth"_a, "conservative"_a, "seed"_a)
      .def("total", [](Held<CountMin>& h) { return h.With([](auto& s) { return s.total(); }); })
      .def("counts", CountsOf);
  BindOne<HeavyHitters>(m, "HeavyHitters")
      .def_static(
          "make",
          [](uint32_t n, uint64_t seed) {
            return Make<HeavyHitters>({n, seed});
          },
          "capacity"_a, "seed"_a)
      .def("total", [](Held<HeavyHitters>& h) { return h.With([](auto& s) { return s.total(); }); })
      .def("error", [](Held<HeavyHitters>& h) { return h.With([](auto& s) { return s.error(); }); })
      .def("top", TopOf);
}

void BindQuantities(nb::module_& m) {
  using namespace nb::literals;
  BindOne<Kll>(m, "Kll")
      .def_static(
          "make",
          [](uint32_t k, bool ints, uint64_t seed) {
            return Make<Kll>({k, ints ? Kll::Kind::kInt : Kll::Kind::kFloat, seed});
          },
          "k"_a, "ints"_a, "seed"_a)
      .def("count", [](Held<Kll>& h) { return h.With([](auto& s) { return s.count(); }); })
      .def("rank_error", [](Held<Kll>& h) { return h.With([](auto& s) { return s.RankError(); }); })
      .def("quantile",
           [](Held<Kll>& h, double q) -> nb::object {
             const int64_t key = Unwrap(h.With([&](auto& s) { return s.QuantileKey(q); }));
             if (h.Copy().params().kind == Kll::Kind::kInt) return nb::int_(key);
             return nb::float_(DoubleOf(key));
           })
      .def("rank_of_float",
           [](Held<Kll>& h, double v) {
             const int64_t key = KeyOf(Value::Float(v).as_float());
             return h.With([&](auto& s) { return s.RankOfKey(key); });
           })
      .def("rank_of_int", [](Held<Kll>& h, int64_t v) { return h.With([&](auto& s) { return s.RankOfKey(v); }); });
  BindOne<TDigest>(m, "TDigest")
      .def_static(
          "make", [](uint32_t delta) { return Make<TDigest>({delta}); }, "delta"_a)
      .def("count", [](Held<TDigest>& h) { return h.With([](auto& s) { return s.count(); }); })
      .def("rank_error", [](Held<TDigest>& h, double q) { return h.With([&](auto& s) { return s.RankError(q); }); })
      .def("quantile",
           [](Held<TDigest>& h, double q) { return Unwrap(h.With([&](auto& s) { return s.ValueAtRank(q); })); })
      .def("rank_of", [](Held<TDigest>& h, double v) { return h.With([&](auto& s) { return s.RankOf(v); }); });
  BindOne<Moments>(m, "Moments")
      .def_static("make_for",
                  [](nb::handle type) {
                    auto t = arrow::py::unwrap_data_type(type.ptr());
                    if (!t.ok()) throw nb::type_error("expected a pyarrow.DataType");
                    return Make<Moments>(Unwrap(Moments::ParamsFor(**t)));
                  })
      .def("facts", [](Held<Moments>& h) {
        const Moments s = h.Copy();
        const int32_t scale = s.params().scale;
        nb::dict out;
        out["count"] = s.count();
        out["nulls"] = s.nulls();
        out["min"] = ToPythonValue(s.min(), scale);
        out["max"] = ToPythonValue(s.max(), scale);
        out["sum"] = ToPythonValue(s.sum(), scale);
        const auto mean = s.mean();
        out["mean"] = mean ? nb::object(nb::float_(*mean)) : nb::none();
        return out;
      });
}

}  // namespace

void BindSketches(nb::module_& m) {
  BindFilters(m);
  BindCounts(m);
  BindQuantities(m);
}

}  // namespace pilum::python
