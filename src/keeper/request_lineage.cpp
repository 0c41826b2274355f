#include "llama_hibernate/keeper/request_lineage.hpp"

#include <algorithm>
#include <array>

namespace hibernate::keeper {

namespace {

constexpr std::array<std::string_view, 4> conversation_keys{
    "messages", "input", "prompt", "input_prefix"};

/// Where the value of such a key lies that holds the conversation.
struct conversation {
    std::size_t begin = 0;     ///< its first element, or character
    std::size_t end = 0;       ///< the extent; 0: none was found
    bool ends_element = false; ///< the last element of an array is whole: [1,2] is not [1,23]
};

bool is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/// Whether a number or literal ends before this byte.
bool ends_scalar(char byte) {
    return is_space(byte) || byte == ',' || byte == ']' || byte == '}';
}

/// Walks once over a JSON object, counting brackets and minding strings. It does not check the
/// grammar: of what is no JSON it makes something, and always within the text.
class request_scan {
public:
    explicit request_scan(std::string_view text) : text_(text) {}

    conversation find() {
        conversation found;
        skip_space();
        if (!pass('{')) {
            return found;
        }
        do {
            skip_space();
            const auto key_begin = at_;
            if (!next_is('"') || !pass_string()) {
                break;
            }
            const auto key = text_.substr(key_begin + 1, at_ - key_begin - 2);
            skip_space();
            if (!pass(':')) {
                break;
            }
            skip_space();
            const bool counts =
                (next_is('[') || next_is('"')) &&
                std::find(conversation_keys.begin(), conversation_keys.end(), key) !=
                    conversation_keys.end();
            const auto value_begin = at_;
            const bool whole = pass_value();
            if (counts) {
                found = whole ? conversation_in(value_begin)
                              : conversation{value_begin + 1, text_.size(), false};
            }
            skip_space();
        } while (pass(','));
        return found;
    }

private:
    bool next_is(char byte) const { return at_ < text_.size() && text_[at_] == byte; }

    bool pass(char byte) {
        const bool there = next_is(byte);
        at_ += there ? 1 : 0;
        return there;
    }

    void skip_space() {
        while (at_ < text_.size() && is_space(text_[at_])) {
            ++at_;
        }
    }

    /// From its opening quote to behind its closing one; false if the text ends before.
    bool pass_string() {
        ++at_;
        while (at_ < text_.size()) {
            const char byte = text_[at_];
            at_ += byte == '\\' ? 2 : 1; // what is escaped ends no string
            if (byte == '"') {
                return true;
            }
        }
        at_ = text_.size();
        return false;
    }

    /// A value of any kind; false if the text ends before it does.
    bool pass_value() {
        std::size_t depth = 0;
        while (at_ < text_.size()) {
            const char byte = text_[at_];
            if (depth == 0 && ends_scalar(byte)) {
                return true;
            }
            if (byte == '"') {
                if (!pass_string()) {
                    return false;
                }
            } else {
                const bool opens = byte == '[' || byte == '{';
                const bool closes = byte == ']' || byte == '}';
                depth += opens ? 1 : 0;
                depth -= closes ? 1 : 0;
                ++at_;
                if (!closes) {
                    continue;
                }
            }
            if (depth == 0) {
                return true;
            }
        }
        return false;
    }

    /// In the array or string that was just passed.
    conversation conversation_in(std::size_t value_begin) const {
        conversation in{value_begin + 1, at_ - 1, false};
        if (text_[value_begin] == '[') {
            while (in.end > in.begin && is_space(text_[in.end - 1])) {
                --in.end;
            }
            in.ends_element = in.end > in.begin;
        }
        return in;
    }

    std::string_view text_;
    std::size_t at_ = 0;
};

} // namespace

std::size_t conversation_extent(std::string_view body_start) {
    return request_scan(body_start).find().end;
}

bool continues_request(std::string_view last_start, std::string_view new_start) {
    const auto last = request_scan(last_start).find();
    const auto reach = std::min(last.end, new_start.size());
    if (last.end == 0 || reach < last.begin ||
        last_start.substr(0, reach) != new_start.substr(0, reach)) {
        return false;
    }
    return !last.ends_element || reach == new_start.size() || ends_scalar(new_start[reach]);
}

} // namespace hibernate::keeper
