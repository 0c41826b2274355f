// The one translation unit in which Asio, Beast and (before Boost 1.86) Process v2 are compiled.

#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
#include <boost/beast/src.hpp>
#if __has_include(<boost/process/v2/src.hpp>)
#include <boost/process/v2/src.hpp>
#endif
