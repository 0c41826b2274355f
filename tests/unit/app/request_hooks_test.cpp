#include "llama_hibernate/app/request_hooks.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "catch.hpp"

using namespace hibernate;
using namespace hibernate::app;

namespace {

proxy::request_view
request(std::string_view method, std::string path, std::string_view conversation = "") {
    proxy::request_view view;
    view.method = method;
    view.path = std::move(path);
    view.header = [conversation](std::string_view name) -> std::optional<std::string_view> {
        if (name == "X-Conversation-Id" && !conversation.empty()) {
            return conversation;
        }
        return std::nullopt;
    };
    return view;
}

void forward(request_hooks& hooks, const proxy::request_view& view) {
    boost::asio::io_context context;
    boost::asio::co_spawn(context, hooks.before_forward(view), boost::asio::detached);
    context.run();
}

using ids = std::vector<std::string>;

} // namespace

TEST_CASE("slot actions from outside are refused, reading the slots is not") {
    request_hooks hooks("/foo", false);
    REQUIRE(hooks.refuse(request("POST", "/foo/slots/0")));
    CHECK(hooks.refuse(request("POST", "/foo/slots/0"))->status == 403);
    CHECK_FALSE(hooks.refuse(request("GET", "/foo/slots")));
    CHECK_FALSE(hooks.refuse(request("POST", "/foo/v1/chat/completions")));

    request_hooks allowing("", true);
    CHECK_FALSE(allowing.refuse(request("POST", "/slots/0")));
}

TEST_CASE("a stream whose client left is remembered, one that ended is not") {
    request_hooks hooks("", false);
    const auto left = request("POST", "/v1/chat/completions", "left");
    const auto ended = request("POST", "/v1/chat/completions", "ended");
    const auto plain = request("POST", "/v1/chat/completions");
    for (const auto* view : {&left, &ended, &plain}) {
        forward(hooks, *view);
    }
    hooks.after_response(left, proxy::outcome::client_gone);
    hooks.after_response(ended, proxy::outcome::complete);
    hooks.after_response(plain, proxy::outcome::client_gone);
    CHECK(hooks.take_open_streams() == ids{"left"});
    CHECK(hooks.take_open_streams().empty());
}

TEST_CASE("a stream that is taken up again counts once, and is over when that ends") {
    request_hooks hooks("", false);
    const auto stream = request("GET", "/v1/stream", "c");
    forward(hooks, stream);
    hooks.after_response(stream, proxy::outcome::client_gone);
    forward(hooks, stream);
    SECTION("cut off again") {
        hooks.after_response(stream, proxy::outcome::cut);
        CHECK(hooks.take_open_streams() == ids{"c"});
    }
    SECTION("to its end") {
        hooks.after_response(stream, proxy::outcome::complete);
        CHECK(hooks.take_open_streams().empty());
    }
}

TEST_CASE("the memory for open streams is bounded, the latest stay") {
    request_hooks hooks("", false);
    for (int i = 0; i != 1000; ++i) {
        const auto id = std::to_string(i);
        forward(hooks, request("POST", "/", id));
    }
    const auto open = hooks.take_open_streams();
    CHECK(open.size() == 256);
    CHECK(open.back() == "999");
}
