#pragma once
// Every kind of request that must not reach the child, with the status that tells its client so:
// what Beast's parser refuses, and what it would let through.

#include <string>
#include <vector>

namespace hibernate::test {

struct refused_request {
    const char* what;
    std::string bytes; ///< a whole head, maybe with what follows it
    unsigned status;
    unsigned or_status = 0; ///< where Beast's newer versions refuse earlier than we do
};

inline std::vector<refused_request> refused_requests() {
    const auto get_with = [](const std::string& fields) {
        return "GET / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n";
    };
    const auto post = [](const std::string& fields) {
        return "POST / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n0\r\n\r\n";
    };
    const auto target = [](const std::string& line) {
        return line + " HTTP/1.1\r\nHost: h\r\n\r\n";
    };
    using namespace std::string_literals;
    return {
        // Two readers could see its body end at different places.
        {"a length and chunks", post("Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"), 400},
        {"chunks and a length", post("Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400},
        {"two lengths", post("Content-Length: 3\r\nContent-Length: 4\r\n"), 400},
        {"a list of two lengths", post("Content-Length: 3, 4\r\n"), 400},
        {"a length with a plus", post("Content-Length: +3\r\n"), 400},
        {"a length with a minus", post("Content-Length: -3\r\n"), 400},
        {"a hexadecimal length", post("Content-Length: 0x3\r\n"), 400},
        {"an empty length", post("Content-Length: \r\n"), 400},
        {"an empty length in a list", post("Content-Length: ,\r\n"), 400},
        {"a length with a space", post("Content-Length: 3 3\r\n"), 400},
        {"a length with a parameter", post("Content-Length: 3;\r\n"), 400},
        {"a length beyond 64 bits", post("Content-Length: 18446744073709551616\r\n"), 400},
        {"an unknown coding", post("Transfer-Encoding: xchunked\r\n"), 501, 400},
        {"identity, and a length", post("Transfer-Encoding: identity\r\nContent-Length: 3\r\n"),
         501, 400},
        {"chunked not last", post("Transfer-Encoding: chunked, identity\r\n"), 501, 400},
        {"gzip, and a length", post("Transfer-Encoding: gzip\r\nContent-Length: 3\r\n"), 501, 400},
        {"gzip, then chunked", post("Transfer-Encoding: gzip, chunked\r\n"), 501, 400},
        {"gzip and chunked, as fields",
         post("Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n"), 501, 400},
        {"chunked twice", post("Transfer-Encoding: chunked, chunked\r\n"), 501, 400},
        {"chunked twice, as fields",
         post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 501, 400},
        {"an empty coding", post("Transfer-Encoding: \r\n"), 501, 400},
        {"a quoted coding", post("Transfer-Encoding: \"chunked\"\r\n"), 501, 400},
        {"chunked with a parameter", post("Transfer-Encoding: chunked;x\r\n"), 501, 400},
        {"chunked after a vertical tab", post("Transfer-Encoding:\x0b chunked\r\n"), 501, 400},
        {"chunks in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         400},
        {"chunks and keep-alive in HTTP/1.0",
         "POST / HTTP/1.0\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n", 400},
        // Two readers could see its fields differently.
        {"a space before the colon", get_with("A : b\r\n"), 400},
        {"a space before the colon of the length", post("Content-Length : 3\r\n"), 400},
        {"no name", get_with(": b\r\n"), 400},
        {"no colon", get_with("A\r\n"), 400},
        {"a folded line", get_with("A: b\r\n c\r\n"), 400},
        {"a line folded with a tab", get_with("A: b\r\n\tc\r\n"), 400},
        {"a folded coding", post("Transfer-Encoding:\r\n chunked\r\n"), 400},
        {"a space before the first field", "GET / HTTP/1.1\r\n Host: h\r\n\r\n", 400},
        {"a bare CR in a value", get_with("A: b\rc\r\n"), 400},
        {"a bare CR at a line's end", get_with("A: b\r\r\n"), 400},
        {"a NUL in a value", get_with("A: b\0c\r\n"s), 400},
        {"a control character in a value", get_with("A: b\x01\r\n"), 400},
        {"a NUL in a name", get_with("A\0: b\r\n"s), 400},
        {"a high byte in a name", get_with("A\xe4: b\r\n"), 400},
        {"a bracket in a name", get_with("A(: b\r\n"), 400},
        {"bare line feeds", "GET / HTTP/1.1\nHost: h\n\n", 400},
        {"one bare line feed", "GET / HTTP/1.1\r\nHost: h\nA: b\r\n\r\n", 400},
        {"an empty line of a bare line feed", "GET / HTTP/1.1\r\nHost: h\r\n\n", 400},
        // The request line.
        {"two spaces before the target", target("GET  /"), 400},
        {"two spaces after the target", target("GET / "), 400},
        {"a tab for a space", target("GET\t/"), 400},
        {"a space in the target", target("GET /a b"), 400},
        {"a space before the method", target(" GET /"), 400},
        {"no target", target("GET"), 400},
        {"a method that is no token", target("G(T /"), 400},
        {"no version", "GET /\r\nHost: h\r\n\r\n", 400},
        {"a version in small letters", "GET / http/1.1\r\nHost: h\r\n\r\n", 400},
        {"a space after the version", "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", 400},
        {"a version of three digits", "GET / HTTP/1.10\r\nHost: h\r\n\r\n", 400},
        {"HTTP/0.9", "GET / HTTP/0.9\r\nHost: h\r\n\r\n", 505},
        {"HTTP/1.2", "GET / HTTP/1.2\r\nHost: h\r\n\r\n", 505},
        {"HTTP/2.0", "GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505},
        {"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        {"the hello of TLS", "\x16\x03\x01\x02\r\n\r\n", 400},
        // The target.
        {"a target without a slash", target("GET x"), 400},
        {"a fragment", target("GET /a#b"), 400},
        {"* that is no OPTIONS", target("GET *"), 400},
        {"an absolute target of another scheme", target("GET ftp://h/"), 400},
        {"a control character in the target", target("GET /\x01"), 400},
        {"a DEL in the target", target("GET /\x7f"), 400},
        {"a NUL in the target", target("GET /\0"s), 400},
        {"CONNECT", target("CONNECT h:80"), 501},
        // The host.
        {"no Host", "GET / HTTP/1.1\r\n\r\n", 400},
        {"two Hosts", get_with("Host: other\r\n"), 400},
        {"the same Host twice", get_with("host: h\r\n"), 400},
        {"two Hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400},
        {"a Host with a space", "GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
        {"a list of Hosts", "GET / HTTP/1.1\r\nHost: a,b\r\n\r\n", 400},
        {"a Host with a path", "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n", 400},
        {"a Host with a user", "GET / HTTP/1.1\r\nHost: u@h\r\n\r\n", 400},
        // What we cannot promise.
        {"an unknown expectation", post("Expect: wonders\r\nContent-Length: 3\r\n"), 417},
        {"a further expectation", post("Expect: 100-continue\r\nExpect: wonders\r\n"), 417},
        {"a list of expectations", post("Expect: 100-continue, wonders\r\n"), 417},
    };
}

} // namespace hibernate::test
