#include "llama_hibernate/admin/overview.hpp"

namespace hibernate::admin {

const char* to_string(slot_condition what) {
    switch (what) {
    case slot_condition::empty:
        return "empty";
    case slot_condition::busy:
        return "busy";
    case slot_condition::restored:
        return "restored";
    case slot_condition::saved:
        return "saved";
    case slot_condition::unsaved:
        return "unsaved";
    case slot_condition::too_short:
        return "too short to save";
    }
    return "";
}

bool is_news(const overview& before, const overview& after) {
    auto same_time = after;
    same_time.now = before.now;
    if (same_time.store && before.store) {
        same_time.store->seen = before.store->seen;
        same_time.store->free = before.store->free; // others write to that disk all the time
    }
    return same_time != before;
}

} // namespace hibernate::admin
