// Rows that leave their fragments and come back in new ones: what update and merge share. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "pilum/change/change.h"
#include "pilum/change/fragment_writer.h"
#include "pilum/change/take_away.h"

namespace pilum {

// kUnsupported where its rows cannot be read and written again as they are.
Status CheckRowsMove(const Table& table);

// The first rows of `fragments`, in order, are old ones with these ids. Rows behind them are new: the commit numbers them.
void SetMovedIds(std::span<const uint64_t> ids, NewFragments* fragments);

// The transaction: rows taken away here and written there. `fields`: those whose values may differ.
wire::Transaction MovedRows(const TakenAway& taken, const NewFragments& added, const std::vector<int32_t>& fields);

}  // namespace pilum
