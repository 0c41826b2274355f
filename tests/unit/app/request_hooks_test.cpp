#include "llama_hibernate/app/request_hooks.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <stdexcept>

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

boost::asio::awaitable<void> nobody(std::string) {
    co_return;
}
boost::asio::awaitable<void> nothing() {
    co_return;
}

} // namespace

TEST_CASE("slot actions from outside are refused, reading the slots is not") {
    request_hooks hooks("/foo", false, {nobody, nothing, [](auto) {}});
    REQUIRE(hooks.refuse(request("POST", "/foo/slots/0")));
    CHECK(hooks.refuse(request("POST", "/foo/slots/0"))->status == 403);
    CHECK_FALSE(hooks.refuse(request("GET", "/foo/slots")));
    CHECK_FALSE(hooks.refuse(request("POST", "/foo/v1/chat/completions")));

    request_hooks allowing("", true, {nobody, nothing, [](auto) {}});
    CHECK_FALSE(allowing.refuse(request("POST", "/slots/0")));
}

TEST_CASE("a stream whose client left is remembered, one that ended is not") {
    request_hooks hooks("", false, {nobody, nothing, [](auto) {}});
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
    request_hooks hooks("", false, {nobody, nothing, [](auto) {}});
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
    request_hooks hooks("", false, {nobody, nothing, [](auto) {}});
    for (int i = 0; i != 1000; ++i) {
        const auto id = std::to_string(i);
        forward(hooks, request("POST", "/", id));
    }
    const auto open = hooks.take_open_streams();
    CHECK(open.size() == 256);
    CHECK(open.back() == "999");
}

TEST_CASE("whoever watches the slots is told of each request that may take one, and of its end") {
    std::vector<std::string> told;
    request_hooks hooks(
        "/foo", true,
        {[&](std::string start) -> boost::asio::awaitable<void> {
             told.push_back("before " + start);
             co_return;
         },
         [&]() -> boost::asio::awaitable<void> {
             told.push_back("other");
             co_return;
         },
         [&](auto) { told.push_back("after"); }});
    for (const char* path :
         {"/foo/completion", "/foo/v1/completions", "/foo/v1/chat/completions", "/foo/v1/messages",
          "/foo/v1/responses", "/foo/infill", "/foo/v1/embeddings", "/foo/something/new"}) {
        auto view = request("POST", path);
        CHECK(hooks.wants_body(view));
        view.body_start = path;
        told.clear();
        forward(hooks, view);
        CHECK(told == ids{std::string("before ") + path});
        hooks.after_response(view, proxy::outcome::client_gone);
        CHECK(told.back() == "after");
        hooks.after_response(view, proxy::outcome::client_gone);
        CHECK(told.size() == 2); // once
    }
    told.clear();
    for (const auto& view :
         {request("GET", "/foo/v1/chat/completions"), request("POST", "/foo/tokenize"),
          request("POST", "/foo/slots/0"), request("POST", "/foo/v1/messages/count_tokens"),
          request("POST", "/elsewhere")}) {
        CHECK_FALSE(hooks.wants_body(view));
        forward(hooks, view);
        hooks.after_response(view, proxy::outcome::complete);
    }
    CHECK(told == ids{"other", "other", "other"}); // those that wake a child, of its own paths
    told.clear();
    for (const char* path : {"/foo/props", "/foo/health", "/foo/v1/models", "/foo/"}) {
        forward(hooks, request("GET", path));
    }
    CHECK(told.empty());
    forward(hooks, request("GET", "/foo/slots"));
    CHECK(told == ids{"other"});
}

TEST_CASE("a request that left while it waited was never under way") {
    int under_way = 0;
    request_hooks hooks(
        "", true,
        {[](std::string) -> boost::asio::awaitable<void> {
             throw std::runtime_error("cancelled");
             co_return;
         },
         nothing, [&](auto) { --under_way; }});
    const auto view = request("POST", "/completion");
    boost::asio::io_context context;
    boost::asio::co_spawn(
        context, hooks.before_forward(view),
        [](const std::exception_ptr& failure) { CHECK(failure); });
    context.run();
    hooks.after_response(view, proxy::outcome::client_gone);
    CHECK(under_way == 0);
}

TEST_CASE("the receipt of a request comes with its end") {
    std::vector<std::optional<llama::receipt>> receipts;
    request_hooks hooks(
        "", false, {nobody, nothing, [&](auto receipt) { receipts.push_back(receipt); }});
    const auto view = request("POST", "/completion");
    const auto answer = [&](unsigned status, std::string_view coding, std::string_view body,
                            proxy::outcome how) {
        proxy::response_view response;
        response.status = status;
        response.header = [coding](std::string_view) {
            return coding.empty() ? std::nullopt : std::optional(coding);
        };
        forward(hooks, view);
        const auto observer = hooks.observe_response(view, response);
        if (observer) {
            observer->see(body);
        }
        hooks.after_response(view, how);
        return receipts.back();
    };
    constexpr auto body = R"({"timings":{"cache_n":700,"prompt_n":20}})";
    using proxy::outcome;
    CHECK(answer(200, "", body, outcome::complete) == llama::receipt{700, 20});
    CHECK(answer(200, "identity", body, outcome::complete) == llama::receipt{700, 20});
    CHECK_FALSE(answer(200, "", "{}", outcome::complete));
    CHECK_FALSE(answer(200, "gzip", body, outcome::complete));
    CHECK_FALSE(answer(400, "", body, outcome::complete));
    CHECK_FALSE(answer(200, "", body, outcome::client_gone));
    CHECK(receipts.size() == 6);

    proxy::response_view response;
    response.status = 200;
    response.header = [](std::string_view) { return std::nullopt; };
    CHECK_FALSE(hooks.observe_response(request("GET", "/slots"), response));
}
