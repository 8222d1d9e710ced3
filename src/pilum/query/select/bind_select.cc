// SELECT lists, GROUP BY, HAVING and ORDER BY. An expression over groups is bound over the schema of the groups: what equals
// a GROUP BY expression, and each aggregate, becomes a column of it; a column that is left over is an error.
#include <map>
#include <set>

#include "pilum/query/binder.h"
#include "pilum/query/select/aggregate.h"
#include "pilum/query/select/row_key.h"
#include "pilum/query/select/select.h"
#include "pilum/source/field_path.h"
#include "pilum/values/value_builder.h"

namespace pilum {
namespace {

bool HasAggregate(const Expr& e) {
  if (e.kind == Expr::Kind::kCall && IsAggregate(e.name)) return true;
  return std::any_of(e.args.begin(), e.args.end(), [](const ExprPtr& a) { return HasAggregate(*a); });
}

bool IsStar(const Expr& call) { return call.args.size() == 1 && call.args[0]->kind == Expr::Kind::kStar; }

class SelectBinder {
 public:
  SelectBinder(const Statement& s, const arrow::Schema& schema, int num_visible, const Params& params)
      : s_(s),
        schema_(schema),
        num_visible_(num_visible),
        params_(params),
        rows_(schema, params, true),
        having_rows_(schema, params) {
    for (const auto& name : s.source_names) {
      rows_.AddSourceName(name);
      having_rows_.AddSourceName(name);
    }
    path_of_ = [this](const Expr& e) {
      auto c = rows_.Resolve(e.parts, e.pos);
      if (!c.ok()) return "?" + ExprText(e);
      std::string out;
      for (const auto& step : c->path.steps) out += "\"" + step + "\"";
      return out;
    };
  }

  Result<SelectTail> Bind() {
    tail_.grouped = !s_.group_by.empty() || s_.having != nullptr;
    for (const auto& item : s_.items) tail_.grouped |= !item.star && HasAggregate(*item.expr);
    for (const auto& o : s_.order_by) tail_.grouped |= HasAggregate(*o.expr);
    PILUM_RETURN_NOT_OK(tail_.grouped ? BindGroups() : Status::OK());
    PILUM_RETURN_NOT_OK(BindItems());
    PILUM_RETURN_NOT_OK(BindOrder());
    if (tail_.grouped) PILUM_RETURN_NOT_OK(BindAllOverGroups());
    PILUM_RETURN_NOT_OK(Finish());
    return std::move(tail_);
  }

 private:
  // --- groups ---
  Status BindGroups() {
    for (const auto& e : s_.group_by) {
      PILUM_ASSIGN_OR_RETURN(const Expr* key, KeyExpr(*e));
      const std::string text = CanonicalText(*key, path_of_);
      if (group_columns_.count(text)) continue;
      PILUM_ASSIGN_OR_RETURN(Operand o, rows_.BindOperand(*key));
      PILUM_ASSIGN_OR_RETURN(ValuePtr value, rows_.AsValue(o));
      auto type = PlainType(value->type());
      if (!RowKeys::CanEncode(*type)) return ErrorAt(e->pos, "GROUP BY is not defined for {}", type->ToString());
      AddGroupColumn(text, std::move(type));
      tail_.keys.push_back(std::move(value));
    }
    return Status::OK();
  }

  // GROUP BY 1 is the first of the list; a name that is no column may be an alias of the list.
  Result<const Expr*> KeyExpr(const Expr& e) {
    if (e.kind == Expr::Kind::kNumber) return ItemAt(e, "GROUP BY");
    if (HasAggregate(e)) return ErrorAt(e.pos, "an aggregate cannot stand in GROUP BY");
    if (e.kind == Expr::Kind::kColumn && e.parts.size() == 1 && !rows_.Resolve(e.parts, e.pos).ok()) {
      for (const auto& item : s_.items) {
        if (item.star || item.alias != e.parts[0].text) continue;
        if (HasAggregate(*item.expr)) return ErrorAt(e.pos, "an aggregate cannot stand in GROUP BY");
        return item.expr.get();
      }
    }
    return &e;
  }

  Result<const Expr*> ItemAt(const Expr& number, const char* clause) {
    const auto n = ExactNumber::Parse(number.text);
    const auto at = n ? n->FloorInt() : std::nullopt;
    if (!at || !at->exact || at->value < 1 || at->value > static_cast<Int128>(s_.items.size())) {
      return ErrorAt(number.pos, "{} {}: there are {} items in SELECT", clause, number.text, s_.items.size());
    }
    const SelectItem& item = s_.items[static_cast<size_t>(at->value) - 1];
    if (item.star) return ErrorAt(number.pos, "{} {} is a '*'", clause, number.text);
    return item.expr.get();
  }

  void AddGroupColumn(const std::string& text, std::shared_ptr<arrow::DataType> type,
                      std::shared_ptr<const arrow::KeyValueMetadata> metadata = nullptr) {
    group_columns_[text] = group_fields_.size();
    group_fields_.push_back(arrow::field(text, std::move(type), true, std::move(metadata)));
  }

  // The q of approx_percentile, the k of approx_top_k: a number, written or bound.
  Status BindSecond(const Expr& e, Aggregate* a) {
    PILUM_ASSIGN_OR_RETURN(Operand o, rows_.BindOperand(e));
    const bool number = o.literal && o.literal->kind == Literal::Kind::kNumber;
    if (a->kind == Aggregate::Kind::kApproxPercentile) {
      a->quantile = number ? o.literal->number.ToDouble() : -1;
      if (!(a->quantile >= 0 && a->quantile <= 1))
        return ErrorAt(e.pos, "approx_percentile takes a number of 0 to 1 here");
      return Status::OK();
    }
    const auto k = number ? o.literal->number.FloorInt() : std::nullopt;
    if (!k || !k->exact || k->value < 1 || k->value > static_cast<Int128>(kMostTop)) {
      return ErrorAt(e.pos, "approx_top_k takes a whole number of 1 to {} here", kMostTop);
    }
    a->top = static_cast<uint64_t>(k->value);
    return Status::OK();
  }

  // The expression over groups. `e` is over rows.
  Result<ExprPtr> OverGroups(const Expr& e) {
    const std::string text = CanonicalText(e, path_of_);
    const bool aggregate = e.kind == Expr::Kind::kCall && IsAggregate(e.name);
    if (aggregate && !group_columns_.count(text)) PILUM_RETURN_NOT_OK(AddAggregate(e, text));
    if (group_columns_.count(text)) {
      auto column = std::make_unique<Expr>();
      column->kind = Expr::Kind::kColumn;
      column->pos = e.pos;
      column->parts.push_back({text, true});
      return column;
    }
    if (e.kind == Expr::Kind::kColumn) {
      if (const Expr* item = ItemOfAlias(e)) {
        aliases_ = false;  // none inside what an alias stands for
        auto out = OverGroups(*item);
        aliases_ = true;
        return out;
      }
      PILUM_RETURN_NOT_OK(rows_.Resolve(e.parts, e.pos).status());
      return ErrorAt(e.pos, "column '{}' must stand in GROUP BY or inside an aggregate", ExprText(e));
    }
    auto out = std::make_unique<Expr>();
    out->kind = e.kind;
    out->pos = e.pos;
    out->name = e.name;
    out->text = e.text;
    out->flag = e.flag;
    out->negated = e.negated;
    for (const auto& arg : e.args) {
      PILUM_ASSIGN_OR_RETURN(auto a, OverGroups(*arg));
      out->args.push_back(std::move(a));
    }
    return out;
  }

  // In HAVING and ORDER BY: what a name that is no column's is the alias of; else null.
  const Expr* ItemOfAlias(const Expr& column) const {
    if (!aliases_ || column.parts.size() != 1 || rows_.Resolve(column.parts, column.pos).ok()) return nullptr;
    for (const auto& item : s_.items) {
      if (!item.star && item.alias == column.parts[0].text) return item.expr.get();
    }
    return nullptr;
  }

  // One that stands in HAVING alone is bound there last.
  Status AddAggregate(const Expr& e, const std::string& text) {
    Binder& rows = in_having_ ? having_rows_ : rows_;
    const auto kind = AggregateKind(e.name);
    if (!kind) return NotYetAt(e.pos, "the aggregate {} is", e.name);
    Aggregate a;
    a.kind = *kind;
    a.distinct = e.flag;
    a.strict = !in_having_;
    a.text = ExprText(e);
    if (IsStar(e)) {
      if (*kind != Aggregate::Kind::kCount || e.flag) return ErrorAt(e.pos, "'*' is for count(*)");
      a.type = arrow::int64();
    } else {
      const bool two = *kind == Aggregate::Kind::kApproxPercentile || *kind == Aggregate::Kind::kApproxTopK;
      if (e.args.size() != (two ? 2 : 1)) {
        return ErrorAt(e.pos, "{} takes {}, not {}", e.name, two ? "two arguments" : "one argument", e.args.size());
      }
      if (two) PILUM_RETURN_NOT_OK(BindSecond(*e.args[1], &a));
      PILUM_ASSIGN_OR_RETURN(Operand o, rows.BindOperand(*e.args[0]));
      PILUM_ASSIGN_OR_RETURN(a.argument, rows.AsValue(o));
      const auto type = PlainType(a.argument->type());
      auto result = AggregateType(*kind, type);
      if (!result.ok()) return ErrorAt(e.pos, "{} {}", e.name, result.status().message());
      if (e.flag && !RowKeys::CanEncode(*type)) {
        return ErrorAt(e.pos, "DISTINCT is not defined for {}", type->ToString());
      }
      a.type = *result;
    }
    AddGroupColumn(text, a.type, AggregateMetadata(a));
    tail_.aggregates.push_back(std::move(a));
    return Status::OK();
  }

  // Everything over groups is rewritten first, so that the schema of the groups is whole; then bound.
  Status BindAllOverGroups() {
    std::vector<ExprPtr> items, order;
    for (const Expr* e : item_exprs_) {
      PILUM_ASSIGN_OR_RETURN(auto out, OverGroups(*e));
      items.push_back(std::move(out));
    }
    aliases_ = true;
    for (const Expr* e : order_exprs_) {
      PILUM_ASSIGN_OR_RETURN(auto out, OverGroups(*e));
      order.push_back(std::move(out));
    }
    ExprPtr having;
    if (s_.having) {
      in_having_ = true;
      PILUM_ASSIGN_OR_RETURN(having, OverGroups(*s_.having));
    }
    tail_.group_schema = arrow::schema(group_fields_);
    Binder strict(*tail_.group_schema, params_, true), lenient(*tail_.group_schema, params_);
    for (const auto& e : items) {
      PILUM_ASSIGN_OR_RETURN(Operand o, strict.BindOperand(*e));
      PILUM_ASSIGN_OR_RETURN(ValuePtr value, strict.AsValue(o));
      tail_.outputs.push_back(std::move(value));
    }
    for (size_t i = 0; i < order.size(); ++i) {
      PILUM_ASSIGN_OR_RETURN(Operand o, strict.BindOperand(*order[i]));
      PILUM_ASSIGN_OR_RETURN(tail_.order[i].value, strict.AsValue(o));
    }
    if (having) {
      PILUM_ASSIGN_OR_RETURN(tail_.having, lenient.BindBool(*having));
    }
    return Status::OK();
  }

  // --- the list ---
  Status BindItems() {
    for (const auto& item : s_.items) {
      if (item.star) {
        PILUM_RETURN_NOT_OK(BindStar(item));
        continue;
      }
      names_.push_back(item.alias.empty() ? ExprText(*item.expr) : item.alias);
      item_exprs_.push_back(item.expr.get());
      if (tail_.grouped) continue;
      PILUM_ASSIGN_OR_RETURN(Operand o, rows_.BindOperand(*item.expr));
      PILUM_ASSIGN_OR_RETURN(ValuePtr value, rows_.AsValue(o));
      tail_.outputs.push_back(std::move(value));
    }
    return Status::OK();
  }

  Status BindStar(const SelectItem& item) {
    if (tail_.grouped) return ErrorAt(item.pos, "'*' cannot stand beside GROUP BY or an aggregate; name the columns");
    if (item.expr && !rows_.IsSourceName(item.expr->parts[0].text)) {
      return ErrorAt(item.pos, "'{}' is not the source", item.expr->parts[0].text);
    }
    for (int i = 0; i < num_visible_; ++i) {
      const auto& f = schema_.field(i);
      auto column = std::make_unique<Expr>();
      column->kind = Expr::Kind::kColumn;
      column->pos = item.pos;
      column->parts.push_back({f->name(), true});
      PILUM_ASSIGN_OR_RETURN(Operand o, rows_.BindOperand(*column));
      tail_.outputs.push_back(o.value);
      names_.push_back(f->name());
      item_exprs_.push_back(column.get());
      owned_.push_back(std::move(column));
    }
    return Status::OK();
  }

  // --- order ---
  // A number or an alias names an item of the list; anything else is an expression.
  Status BindOrder() {
    for (const auto& item : s_.order_by) {
      OrderKey key{nullptr, item.descending, item.nulls_first};
      PILUM_ASSIGN_OR_RETURN(const Expr* over, OrderedExpr(*item.expr));
      if (!tail_.grouped) {
        PILUM_ASSIGN_OR_RETURN(Operand o, rows_.BindOperand(*over));
        PILUM_ASSIGN_OR_RETURN(key.value, rows_.AsValue(o));
      }
      if (s_.distinct) PILUM_RETURN_NOT_OK(CheckListed(*over, item.expr->pos));
      tail_.order.push_back(std::move(key));
      order_exprs_.push_back(over);
    }
    return Status::OK();
  }

  Result<const Expr*> OrderedExpr(const Expr& e) {
    if (e.kind == Expr::Kind::kNumber) return ItemAt(e, "ORDER BY");
    if (e.kind == Expr::Kind::kColumn && e.parts.size() == 1) {
      for (const auto& item : s_.items) {
        if (!item.star && item.alias == e.parts[0].text) return item.expr.get();
      }
    }
    return &e;
  }

  Status CheckListed(const Expr& e, size_t pos) {
    const std::string text = CanonicalText(e, path_of_);
    for (const Expr* item : item_exprs_) {
      if (CanonicalText(*item, path_of_) == text) return Status::OK();
    }
    return ErrorAt(pos, "with DISTINCT, ORDER BY takes what stands in SELECT");
  }

  // --- the whole ---
  Status Finish() {
    arrow::FieldVector fields;
    for (size_t i = 0; i < tail_.outputs.size(); ++i) {
      const ValueExpr& value = *tail_.outputs[i];
      std::shared_ptr<arrow::Field> field;
      if (!tail_.grouped && value.column()) {
        PILUM_ASSIGN_OR_RETURN(field, FieldAt(schema_, *value.column()));
        field = field->WithName(names_[i]);
      } else {
        field = arrow::field(names_[i], value.type());
        if (value.column()) field = tail_.group_schema->GetFieldByName(value.column()->steps[0])->WithName(names_[i]);
      }
      fields.push_back(std::move(field));
    }
    tail_.schema = arrow::schema(std::move(fields), schema_.metadata());
    for (size_t i = 0; i < tail_.order.size(); ++i) {
      const auto type = PlainType(tail_.order[i].value->type());
      if (!RowKeys::CanEncode(*type)) {
        return ErrorAt(s_.order_by[i].expr->pos, "ORDER BY is not defined for {}", type->ToString());
      }
    }
    tail_.distinct = s_.distinct;
    for (size_t i = 0; s_.distinct && i < tail_.outputs.size(); ++i) {
      const auto type = PlainType(tail_.outputs[i]->type());
      if (!RowKeys::CanEncode(*type))
        return QueryError("DISTINCT is not defined for '{}', {}", names_[i], type->ToString());
    }
    std::set<FieldPath> seen, plain;
    for (const Binder* binder : {&rows_, &having_rows_}) {
      for (const auto& path : binder->all_columns()) {
        if (seen.insert(path).second) tail_.inputs.push_back(path);
      }
      plain.merge(binder->plain_columns());
    }
    std::copy_if(tail_.inputs.begin(), tail_.inputs.end(), std::back_inserter(tail_.json_only),
                 [&](const auto& path) { return !plain.contains(path); });
    return Status::OK();
  }

  const Statement& s_;
  const arrow::Schema& schema_;
  const int num_visible_;
  const Params& params_;
  Binder rows_, having_rows_;  // over rows; the latter without errors where a row has no value
  bool in_having_ = false, aliases_ = false;
  PathOf path_of_;
  SelectTail tail_;
  std::map<std::string, size_t> group_columns_;
  arrow::FieldVector group_fields_;
  std::vector<std::string> names_;
  std::vector<const Expr*> item_exprs_;
  std::vector<const Expr*> order_exprs_;
  std::vector<ExprPtr> owned_;
};

}  // namespace

bool NeedsTail(const Statement& s) {
  if (s.distinct || !s.group_by.empty() || s.having || !s.order_by.empty()) return true;
  return std::any_of(s.items.begin(), s.items.end(),
                     [](const SelectItem& i) { return !i.star && i.expr->kind != Expr::Kind::kColumn; });
}

Status BindSelect(const Statement& s, const arrow::Schema& schema, int num_visible, const Params& params,
                  BoundQuery* out) {
  PILUM_ASSIGN_OR_RETURN(SelectTail tail, SelectBinder(s, schema, num_visible, params).Bind());
  out->columns = tail.inputs;
  for (const auto& path : tail.inputs) out->output_names.push_back(path.ToString());
  out->tail = std::make_shared<SelectTail>(std::move(tail));
  return Status::OK();
}

}  // namespace pilum
