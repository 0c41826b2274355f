#include "llama_hibernate/admin/page.hpp"

#include "catch.hpp"

using namespace hibernate::admin;

TEST_CASE("the page is whole, and needs nothing from elsewhere") {
    const std::string text(page());
    CHECK(text.starts_with("<!DOCTYPE html>"));
    CHECK(text.ends_with("</html>\n"));
    CHECK(text.find("http://") == std::string::npos);
    CHECK(text.find("https://") == std::string::npos);
    CHECK(text.find("src=") == std::string::npos);
}

TEST_CASE("what the daemon tells is never taken for markup") {
    const std::string text(page());
    for (const char* way :
         {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("}) {
        CAPTURE(way);
        CHECK(text.find(way) == std::string::npos);
    }
}

TEST_CASE("the policy names the script and the style by their digests, and allows no others") {
    const auto& policy = page_policy();
    CHECK(policy.find("default-src 'none'") != std::string::npos);
    CHECK(policy.find("script-src 'sha256-") != std::string::npos);
    CHECK(policy.find("style-src 'sha256-") != std::string::npos);
    CHECK(policy.find("unsafe") == std::string::npos);
    // A script in an attribute would not run.
    CHECK(std::string(page()).find(" onclick") == std::string::npos);
    CHECK(std::string(page()).find("style=\"") == std::string::npos);
}
