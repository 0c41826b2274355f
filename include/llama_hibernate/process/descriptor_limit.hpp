#pragma once
// How many descriptors we may have open.
//
// The usual soft limit, 1024, is kept low for programs that select(); each request takes two
// descriptors of ours, so that it would end our service before --hibernate-max-connections does.
// The child gets back what we were given: it may be such a program.

#include <cstddef>

namespace hibernate::process {

/// Raises the soft limit to so many, or to the hard limit where that is lower; never lowers it.
/// Call it once, before a child is launched.
void raise_descriptor_limit(std::size_t wanted) noexcept;

/// Between fork and exec: what it was before. Only system calls.
void restore_descriptor_limit() noexcept;

} // namespace hibernate::process
