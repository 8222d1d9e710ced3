// A statement over a snapshot's schema: what to return, the predicate, LIMIT and OFFSET.
#include <set>

#include <arrow/compute/initialize.h>

#include "pilum/query/binder.h"
#include "pilum/query/query.h"
#include "pilum/query/select/select.h"

namespace pilum {
namespace {

Result<uint64_t> BindCount(Binder* binder, const Expr& e, const char* clause) {
  Literal l;
  if (e.kind == Expr::Kind::kParam) {
    PILUM_ASSIGN_OR_RETURN(l, binder->BindParam(e));
  } else {
    PILUM_ASSIGN_OR_RETURN(Operand o, binder->BindOperand(e));
    l = *o.literal;
  }
  auto n = l.kind == Literal::Kind::kNumber ? l.number.FloorInt() : std::nullopt;
  if (!n || !n->exact || n->value < 0 || n->value > UINT64_MAX) {
    return ErrorAt(e.pos, "{} takes a whole number of rows", clause);
  }
  return static_cast<uint64_t>(n->value);
}

// Plain columns: what the query returns is what it reads.
Status AddAll(const Snapshot& snapshot, size_t pos, BoundQuery* out) {
  const arrow::Schema& schema = *snapshot.schema();
  for (int i = 0; i < schema.num_fields() - snapshot.num_hidden(); ++i) {
    const auto& f = schema.field(i);
    if (schema.GetAllFieldIndices(f->name()).size() > 1) {
      return ErrorAt(pos, "there are two columns named '{}'", f->name());
    }
    out->columns.push_back(FieldPath{{f->name()}});
    out->output_names.push_back(f->name());
  }
  return Status::OK();
}

Status BindItems(const Statement& s, const Snapshot& snapshot, const Binder& binder, BoundQuery* out) {
  for (const auto& item : s.items) {
    if (item.star) {
      if (item.expr && !binder.IsSourceName(item.expr->parts[0].text)) {
        return ErrorAt(item.pos, "'{}' is not the source", item.expr->parts[0].text);
      }
      PILUM_RETURN_NOT_OK(AddAll(snapshot, item.pos, out));
      continue;
    }
    PILUM_ASSIGN_OR_RETURN(ResolvedColumn c, binder.Resolve(item.expr->parts, item.pos));
    out->output_names.push_back(item.alias.empty() ? c.path.steps.back() : item.alias);
    out->columns.push_back(std::move(c.path));
  }
  return Status::OK();
}

}  // namespace

Result<BoundQuery> BindQuery(std::string_view sql, const Snapshot& snapshot, const Params& params) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());  // expressions over literals are computed while binding
  PILUM_ASSIGN_OR_RETURN(Statement s, ParseStatement(sql));
  const arrow::Schema& schema = *snapshot.schema();
  Binder binder(schema, params);
  for (const auto& name : s.source_names) binder.AddSourceName(name);
  BoundQuery out;
  out.bare_predicate = s.bare_predicate;
  if (s.bare_predicate) {
    PILUM_RETURN_NOT_OK(AddAll(snapshot, 1, &out));
  } else if (NeedsTail(s)) {
    PILUM_RETURN_NOT_OK(BindSelect(s, schema, schema.num_fields() - snapshot.num_hidden(), params, &out));
  } else {
    PILUM_RETURN_NOT_OK(BindItems(s, snapshot, binder, &out));
  }
  if (s.where) {
    PILUM_ASSIGN_OR_RETURN(BoolPtr where, binder.BindBool(*s.where));
    out.where = MakeBoundPredicate(std::move(where), binder.columns(), binder.json_only(), binder.columns_of(),
                                   std::string(sql));
  }
  if (s.limit) {
    PILUM_ASSIGN_OR_RETURN(out.limit, BindCount(&binder, *s.limit, "LIMIT"));
  }
  if (s.offset) {
    PILUM_ASSIGN_OR_RETURN(out.offset, BindCount(&binder, *s.offset, "OFFSET"));
  }
  PILUM_RETURN_NOT_OK(CheckParams(s.question_marks, params));
  std::set<std::string> used;
  auto check = [&](const FieldPath& path) -> Status {
    if (!used.insert(path.steps[0]).second) return Status::OK();
    return snapshot.CheckColumn(path.steps[0]);
  };
  for (const auto& c : out.columns) PILUM_RETURN_NOT_OK(check(c));
  for (const auto& c : binder.columns()) PILUM_RETURN_NOT_OK(check(c));
  return out;
}

Result<std::shared_ptr<const BoundPredicate>> BindPredicate(std::string_view sql, const arrow::Schema& schema,
                                                            const Params& params) {
  PILUM_RETURN_NOT_OK(arrow::compute::Initialize());
  PILUM_ASSIGN_OR_RETURN(Statement s, ParsePredicate(sql));
  Binder binder(schema, params);
  PILUM_ASSIGN_OR_RETURN(BoolPtr root, binder.BindBool(*s.where));
  PILUM_RETURN_NOT_OK(CheckParams(s.question_marks, params));
  return MakeBoundPredicate(std::move(root), binder.columns(), binder.json_only(), binder.columns_of(),
                            std::string(sql));
}

Status CheckParams(size_t question_marks, const Params& params) {
  if (question_marks > 0 && question_marks < params.positional.size()) {
    return QueryError("{} values were bound, but the text has {} '?'", params.positional.size(), question_marks);
  }
  return Status::OK();
}

}  // namespace pilum
