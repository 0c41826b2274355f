#include <string>

#include "catch.hpp"
#include "llama_hibernate/proxy/answer.hpp"

using namespace hibernate::proxy;

TEST_CASE("an unavailable server answers as llama-server does, and says when to come again") {
    const answer what{503, "restoring 2 of 5", "unavailable_error"};
    answer_form form;
    form.keep_alive = true;
    const std::string body =
        R"({"error":{"code":503,"message":"restoring 2 of 5","type":"unavailable_error"}})";
    CHECK(
        render(what, form) == "HTTP/1.1 503 Service Unavailable\r\n"
                              "Content-Type: application/json; charset=utf-8\r\n"
                              "Retry-After: 1\r\n"
                              "Content-Length: " +
                                  std::to_string(body.size()) + "\r\n\r\n" + body);
}

TEST_CASE("the answer to a HEAD has the length of a body, and none") {
    answer_form form;
    form.head_only = true;
    const auto text = render(answer{}, form);
    CHECK(text.ends_with("\r\n\r\n"));
    CHECK(text.find("Content-Length: 0") == std::string::npos);
}

TEST_CASE("an answer tells what becomes of the connection") {
    answer_form form;
    CHECK(render(answer{}, form).find("\r\nConnection: close\r\n") != std::string::npos);
    form.keep_alive = true;
    CHECK(render(answer{}, form).find("Connection") == std::string::npos);
    form.http_1_0 = true;
    CHECK(render(answer{}, form).find("\r\nConnection: keep-alive\r\n") != std::string::npos);
}

TEST_CASE("an owner's answer has its own fields, and a stream no length") {
    struct nothing final : piece_source {
        hibernate::awaitable<std::string> next() override { co_return std::string(); }
    };
    own_answer what;
    what.fields = {{"Content-Type", "text/html"}, {"Cache-Control", "no-store"}};
    what.body = "<p>";
    answer_form form;
    form.keep_alive = true;
    CHECK(
        render(what, form) == "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
                              "Cache-Control: no-store\r\nContent-Length: 3\r\n\r\n<p>");
    what.body.clear();
    what.stream = std::make_unique<nothing>();
    CHECK(render(what, {}).find("Content-Length") == std::string::npos);
}

TEST_CASE("only a 503 asks to retry") {
    const answer what{403, "no", "permission_error"};
    CHECK(render(what, {}).find("Retry-After") == std::string::npos);
}

TEST_CASE("any message makes valid JSON") {
    const answer what{400, "a \"quote\", a \\ and \xff", "invalid_request_error"};
    const auto text = render(what, {});
    CHECK(text.find(R"("a \"quote\", a \\ and )") != std::string::npos);
    CHECK(text.find('\xff') == std::string::npos);
}
