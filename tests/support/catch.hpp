#pragma once
// The part of Catch2 that versions 2 and 3 have in common.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
