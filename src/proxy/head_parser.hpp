#pragma once
// A head's grammar, by Beast.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>

#include "llama_hibernate/proxy/fields.hpp"

namespace hibernate::proxy {

namespace http = boost::beast::http;

/// Beast's string_view is Boost's or the standard's, by version.
template <typename AnyView>
std::string_view standard_view(const AnyView& view) {
    return {view.data(), view.size()};
}

/// Beast checks the grammar; what it finds is kept as views of the bytes it looks at, in place of
/// its own containers with an allocation for every field. Nothing but the head is given to it.
template <bool is_request>
class head_parser final : public http::basic_parser<is_request> {
public:
    explicit head_parser(field_list& fields) : fields_(fields) {
        this->header_limit(std::numeric_limits<std::uint32_t>::max()); // the caller bounds heads
        this->body_limit(boost::none);
    }

    /// text is a whole head.
    boost::system::error_code parse(std::string_view text) {
        boost::system::error_code error;
        this->put(boost::asio::buffer(text.data(), text.size()), error);
        if (!error && !this->is_header_done()) {
            error = http::error::partial_message;
        }
        return error;
    }

    std::string_view method;
    std::string_view target;
    std::string_view reason;
    unsigned status = 0;
    unsigned version = 0;

private:
    using error_code = boost::beast::error_code;
    using view = boost::beast::string_view;

    void on_request_impl(
        http::verb, view method_text, view target_text, int version_read, error_code&) override {
        method = standard_view(method_text);
        target = standard_view(target_text);
        version = static_cast<unsigned>(version_read);
    }
    void on_response_impl(int code, view reason_text, int version_read, error_code&) override {
        status = static_cast<unsigned>(code);
        reason = standard_view(reason_text);
        version = static_cast<unsigned>(version_read);
    }
    /// Beast makes a value of its own only of folded lines, which were refused before.
    void on_field_impl(http::field, view name, view value, error_code&) override {
        fields_.append(standard_view(name), standard_view(value));
    }
    /// Pure in later versions of Beast, unknown to earlier ones.
    virtual void on_trailer_field_impl(http::field, view, view, error_code&) {}

    void on_header_impl(error_code&) override {}
    void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
    std::size_t on_body_impl(view body, error_code&) override { return body.size(); }
    void on_chunk_header_impl(std::uint64_t, view, error_code&) override {}
    std::size_t on_chunk_body_impl(std::uint64_t, view body, error_code&) override {
        return body.size();
    }
    void on_finish_impl(error_code&) override {}

    field_list& fields_;
};

} // namespace hibernate::proxy
