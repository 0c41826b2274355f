#include "llama_hibernate/base/version.hpp"

namespace hibernate {

const char* const version = HIBERNATE_VERSION;

} // namespace hibernate
