#pragma once
// What the crash of a child that served says of the snapshots that were restored into it: pure.
//
// A poisoned snapshot would crash each child into which it is restored, so it must not be tried for
// ever; but children crash for other reasons as well, and a conversation is worth another try. So a
// crash condemns a snapshot if it was the only one and nothing was answered since, or if it is the
// second in a row with it.

#include <cstddef>
#include <cstdint>

namespace hibernate::keeper {

struct crash {
    std::size_t restored = 0;  ///< snapshots that were in the child
    std::uint64_t crashes = 0; ///< children in a row that crashed with this one, with this crash
    bool answered_anything = true; ///< requests were answered to their end since it was restored
};

bool condemns(const crash& seen);

} // namespace hibernate::keeper
