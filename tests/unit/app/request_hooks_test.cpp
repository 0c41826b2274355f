#include "llama_hibernate/app/request_hooks.hpp"
#include "llama_hibernate/base/awaitable.hpp"

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
    auto waiting = hooks.before_forward(view);
    if (!waiting.valid()) {
        return;
    }
    boost::asio::io_context context;
    boost::asio::co_spawn(context, std::move(waiting), boost::asio::detached);
    context.run();
}

using ids = std::vector<std::string>;

awaitable<void> nobody(std::string_view) {
    co_return;
}
awaitable<void> nothing() {
    co_return;
}

awaitable<void> no_action(slot_action) {
    co_return;
}

/// Who watches nothing; there are four slots.
request_hooks::slot_watch blind() {
    return {nobody, nothing, [](auto) {}, [] { return 4; }, no_action, [](bool) {}};
}

proxy::request_view action(std::string path, std::string_view query, std::string_view body = "") {
    auto view = request("POST", std::move(path));
    view.query = query;
    view.body_start = body;
    return view;
}

} // namespace

TEST_CASE("slot actions from outside are refused, reading the slots is not") {
    request_hooks hooks("/foo", false, blind());
    REQUIRE(hooks.refuse(request("POST", "/foo/slots/0")));
    CHECK(hooks.refuse(request("POST", "/foo/slots/0"))->status == 403);
    CHECK_FALSE(hooks.refuse(request("GET", "/foo/slots")));
    CHECK_FALSE(hooks.refuse(request("POST", "/foo/v1/chat/completions")));
}

TEST_CASE("slot actions pass with --slot-save-path, unless they touch what is ours") {
    request_hooks hooks("/foo", true, blind());
    const auto save = action("/foo/slots/0", "action=save", R"({"filename":"mine"})");
    CHECK_FALSE(hooks.refuse(save));
    CHECK(hooks.wants_body(save));
    CHECK_FALSE(hooks.refuse_body(save));
    CHECK(hooks.refuse(action("/foo/slots/4", "action=save"))->status == 400);
    const auto ours = action("/foo/slots/0", "action=save", R"({"filename":"lock"})");
    CHECK(hooks.refuse_body(ours)->status == 403);
    // Of other requests the body is not judged.
    CHECK_FALSE(hooks.refuse_body(action("/foo/completion", "", R"({"filename":"lock"})")));
}

TEST_CASE("slot actions are recognised whatever the API prefix looks like") {
    for (const char* prefix : {"/foo", "/foo/", "//foo", "/./foo", "/bar/../foo"}) {
        CAPTURE(prefix);
        request_hooks hooks(prefix, false, blind());
        CHECK(hooks.refuse(request("POST", "/foo/slots/0")));
        CHECK_FALSE(hooks.refuse(request("POST", "/foo/completion")));
        CHECK(hooks.wants_body(request("POST", "/foo/completion")));
    }
    request_hooks plain("/", false, blind());
    CHECK(plain.refuse(request("POST", "/slots/0")));
}

TEST_CASE("whoever watches the slots is told of each slot action, and of its end") {
    ids told;
    auto watch = blind();
    watch.before_action = [&](slot_action asked) -> awaitable<void> {
        told.push_back(std::to_string(asked.slot) + (asked.displaces ? " displaced" : " saved"));
        co_return;
    };
    watch.after_action = [&](bool left) { told.push_back(left ? "left" : "done"); };
    request_hooks hooks("", true, watch);
    const auto restore = action("/slots/2", "action=restore", R"({"filename":"mine"})");
    forward(hooks, restore);
    CHECK(told == ids{"2 displaced"});
    hooks.after_response(restore, proxy::outcome::client_gone);
    hooks.after_response(restore, proxy::outcome::client_gone);
    forward(hooks, restore);
    hooks.after_response(restore, proxy::outcome::complete);
    CHECK(told == ids{"2 displaced", "left", "2 displaced", "done"});
}

TEST_CASE("a stream whose client left is remembered, one that ended is not") {
    request_hooks hooks("", false, blind());
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
    request_hooks hooks("", false, blind());
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
    request_hooks hooks("", false, blind());
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
        {[&](std::string_view start) -> awaitable<void> {
             told.push_back("before " + std::string(start));
             co_return;
         },
         [&]() -> awaitable<void> {
             told.push_back("other");
             co_return;
         },
         [&](auto) { told.push_back("after"); }, [] { return 4; }, no_action, [](bool) {}});
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
        CHECK(hooks.wants_body(view) == (view.path == "/foo/slots/0"));
        forward(hooks, view);
        hooks.after_response(view, proxy::outcome::complete);
    }
    CHECK(told == ids{"other", "other"}); // those that wake a child, of its own paths
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
        {[](std::string_view) -> awaitable<void> {
             throw std::runtime_error("cancelled");
             co_return;
         },
         nothing, [&](auto) { --under_way; }, [] { return 4; }, no_action, [](bool) {}});
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
        "", false,
        {nobody, nothing, [&](auto ended) { receipts.push_back(ended.receipt); }, [] { return 4; },
         no_action, [](bool) {}});
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
