#pragma once
// What llama-server (b11669, a tiny model) answered to completion requests of every kind, byte for
// byte, and what it told there of the prompt. The prompts hold
// "timings":{"cache_n":7,"prompt_n":7}.

#include <array>
#include <optional>
#include <string_view>

#include "llama_hibernate/llama/prompt_counts.hpp"

namespace hibernate::test {

struct completion_answer {
    std::string_view request; ///< which one it was
    std::optional<llama::receipt> told;
    std::string_view body;
};

// clang-format off
inline constexpr std::array<completion_answer, 16> completion_answers{{
    {"/completion", llama::receipt{0, 45, std::chrono::microseconds(1867)},
     R"~({"index":0,"content":" green was","tokens":[],"id_slot":0,"stop":true,"model":"tiny-llama","tokens_predicted":2,"tokens_evaluated":45,"generation_settings":{"seed":4294967295,"temperature":0.800000011920929,"dynatemp_range":0.0,"dynatemp_exponent":1.0,"top_k":40,"top_p":0.949999988079071,"min_p":0.05000000074505806,"top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.10000000149011612,"typical_p":1.0,"repeat_last_n":64,"repeat_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"dry_multiplier":0.0,"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":64,"dry_sequence_breakers":["\n",":","\"","*"],"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.10000000149011612,"adaptive_target":-1.0,"adaptive_decay":0.8999999761581421,"stop":[],"max_tokens":2,"n_predict":2,"n_keep":0,"n_discard":0,"ignore_eos":false,"stream":false,"logit_bias":[],"n_probs":0,"min_keep":0,"grammar":"","grammar_lazy":false,"grammar_triggers":[],"preserved_tokens":[],"chat_format":"Content-only","reasoning_format":"deepseek","reasoning_in_content":false,"generation_prompt":"","samplers":["penalties","dry","top_n_sigma","top_k","typ_p","top_p","min_p","xtc","temperature"],"speculative.types":"none","timings_per_token":false,"post_sampling_probs":false,"backend_sampling":false,"lora":[]},"prompt":"Text with \"timings\":{\"cache_n\":7,\"prompt_n\":7} and \\","has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":46,"timings":{"cache_n":0,"prompt_n":45,"prompt_ms":1.867,"prompt_per_token_ms":0.04148888888888889,"prompt_per_second":24102.838778789504,"predicted_n":2,"predicted_ms":0.237,"predicted_per_token_ms":0.237,"predicted_per_second":4219.409282700422}})~"},
    {"/completion, stream", llama::receipt{45, 1, std::chrono::microseconds(260)},
     R"~(data: {"index":0,"content":" at","tokens":[282],"stop":false,"id_slot":-1,"tokens_predicted":1,"tokens_evaluated":46}

data: {"index":0,"content":" be","tokens":[281],"stop":false,"id_slot":-1,"tokens_predicted":2,"tokens_evaluated":46}

data: {"index":0,"content":"","tokens":[],"id_slot":0,"stop":true,"model":"tiny-llama","tokens_predicted":2,"tokens_evaluated":46,"generation_settings":{"seed":4294967295,"temperature":0.800000011920929,"dynatemp_range":0.0,"dynatemp_exponent":1.0,"top_k":40,"top_p":0.949999988079071,"min_p":0.05000000074505806,"top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.10000000149011612,"typical_p":1.0,"repeat_last_n":64,"repeat_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"dry_multiplier":0.0,"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":64,"dry_sequence_breakers":["\n",":","\"","*"],"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.10000000149011612,"adaptive_target":-1.0,"adaptive_decay":0.8999999761581421,"stop":[],"max_tokens":2,"n_predict":2,"n_keep":0,"n_discard":0,"ignore_eos":false,"stream":true,"logit_bias":[],"n_probs":0,"min_keep":0,"grammar":"","grammar_lazy":false,"grammar_triggers":[],"preserved_tokens":[],"chat_format":"Content-only","reasoning_format":"deepseek","reasoning_in_content":false,"generation_prompt":"","samplers":["penalties","dry","top_n_sigma","top_k","typ_p","top_p","min_p","xtc","temperature"],"speculative.types":"none","timings_per_token":false,"post_sampling_probs":false,"backend_sampling":false,"lora":[]},"prompt":"Text with \"timings\":{\"cache_n\":7,\"prompt_n\":7} and \\ more","has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":47,"timings":{"cache_n":45,"prompt_n":1,"prompt_ms":0.26,"prompt_per_token_ms":0.26,"prompt_per_second":3846.153846153846,"predicted_n":2,"predicted_ms":0.175,"predicted_per_token_ms":0.175,"predicted_per_second":5714.285714285715}}

)~"},
    {"/completion with two prompts", llama::receipt{0, 5, std::chrono::microseconds(466)},
     R"~([{"index":0,"content":" at be","tokens":[],"id_slot":0,"stop":true,"model":"tiny-llama","tokens_predicted":2,"tokens_evaluated":46,"generation_settings":{"seed":4294967295,"temperature":0.800000011920929,"dynatemp_range":0.0,"dynatemp_exponent":1.0,"top_k":40,"top_p":0.949999988079071,"min_p":0.05000000074505806,"top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.10000000149011612,"typical_p":1.0,"repeat_last_n":64,"repeat_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"dry_multiplier":0.0,"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":64,"dry_sequence_breakers":["\n",":","\"","*"],"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.10000000149011612,"adaptive_target":-1.0,"adaptive_decay":0.8999999761581421,"stop":[],"max_tokens":2,"n_predict":2,"n_keep":0,"n_discard":0,"ignore_eos":false,"stream":false,"logit_bias":[],"n_probs":0,"min_keep":0,"grammar":"","grammar_lazy":false,"grammar_triggers":[],"preserved_tokens":[],"chat_format":"Content-only","reasoning_format":"deepseek","reasoning_in_content":false,"generation_prompt":"","samplers":["penalties","dry","top_n_sigma","top_k","typ_p","top_p","min_p","xtc","temperature"],"speculative.types":"none","timings_per_token":false,"post_sampling_probs":false,"backend_sampling":false,"lora":[]},"prompt":"Text with \"timings\":{\"cache_n\":7,\"prompt_n\":7} and \\ more","has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":47,"timings":{"cache_n":45,"prompt_n":1,"prompt_ms":0.482,"prompt_per_token_ms":0.482,"prompt_per_second":2074.688796680498,"predicted_n":2,"predicted_ms":0.19,"predicted_per_token_ms":0.19,"predicted_per_second":5263.157894736842}},{"index":1,"content":" they be","tokens":[],"id_slot":1,"stop":true,"model":"tiny-llama","tokens_predicted":2,"tokens_evaluated":5,"generation_settings":{"seed":4294967295,"temperature":0.800000011920929,"dynatemp_range":0.0,"dynatemp_exponent":1.0,"top_k":40,"top_p":0.949999988079071,"min_p":0.05000000074505806,"top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.10000000149011612,"typical_p":1.0,"repeat_last_n":64,"repeat_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"dry_multiplier":0.0,"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":64,"dry_sequence_breakers":["\n",":","\"","*"],"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.10000000149011612,"adaptive_target":-1.0,"adaptive_decay":0.8999999761581421,"stop":[],"max_tokens":2,"n_predict":2,"n_keep":0,"n_discard":0,"ignore_eos":false,"stream":false,"logit_bias":[],"n_probs":0,"min_keep":0,"grammar":"","grammar_lazy":false,"grammar_triggers":[],"preserved_tokens":[],"chat_format":"Content-only","reasoning_format":"deepseek","reasoning_in_content":false,"generation_prompt":"","samplers":["penalties","dry","top_n_sigma","top_k","typ_p","top_p","min_p","xtc","temperature"],"speculative.types":"none","timings_per_token":false,"post_sampling_probs":false,"backend_sampling":false,"lora":[]},"prompt":"all of it","has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":6,"timings":{"cache_n":0,"prompt_n":5,"prompt_ms":0.466,"prompt_per_token_ms":0.0932,"prompt_per_second":10729.613733905579,"predicted_n":2,"predicted_ms":0.22,"predicted_per_token_ms":0.22,"predicted_per_second":4545.454545454545}}])~"},
    {R"(/completion with response_fields ["content", "timings/cache_n", "timings/prompt_n"])", llama::receipt{46, 2},
     R"~({"content":" sun all","timings/cache_n":46,"timings/prompt_n":2})~"},
    {"/v1/completions", llama::receipt{0, 11, std::chrono::microseconds(442)},
     R"~({"choices":[{"text":" all all","index":0,"logprobs":null,"finish_reason":"length"}],"created":1796018230,"model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"text_completion","usage":{"completion_tokens":2,"prompt_tokens":11,"total_tokens":13,"prompt_tokens_details":{"cached_tokens":0}},"id":"chatcmpl-ALEkTkn1fdKIS101gp0uWohbyY6uuZQ8","timings":{"cache_n":0,"prompt_n":11,"prompt_ms":0.442,"prompt_per_token_ms":0.04018181818181818,"prompt_per_second":24886.877828054297,"predicted_n":2,"predicted_ms":0.125,"predicted_per_token_ms":0.125,"predicted_per_second":8000.0}})~"},
    {"/v1/completions, stream", llama::receipt{11, 3, std::chrono::microseconds(479)},
     R"~(data: {"choices":[{"text":" all","index":0,"logprobs":null,"finish_reason":null}],"created":1796018230,"model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"text_completion","id":"chatcmpl-u4Azvx33xXBcixTyJm8mcjfEgqnMSHIf"}

data: {"choices":[{"text":" all","index":0,"logprobs":null,"finish_reason":null}],"created":1796018230,"model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"text_completion","id":"chatcmpl-u4Azvx33xXBcixTyJm8mcjfEgqnMSHIf"}

data: {"choices":[{"text":"","index":0,"logprobs":null,"finish_reason":"length"}],"created":1796018230,"model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"text_completion","usage":{"completion_tokens":2,"prompt_tokens":14,"total_tokens":16,"prompt_tokens_details":{"cached_tokens":11}},"id":"chatcmpl-u4Azvx33xXBcixTyJm8mcjfEgqnMSHIf","timings":{"cache_n":11,"prompt_n":3,"prompt_ms":0.479,"prompt_per_token_ms":0.15966666666666665,"prompt_per_second":6263.048016701461,"predicted_n":2,"predicted_ms":0.313,"predicted_per_token_ms":0.313,"predicted_per_second":3194.888178913738}}

data: [DONE]

)~"},
    {"/v1/chat/completions", llama::receipt{0, 64, std::chrono::microseconds(2894)},
     R"~({"choices":[{"finish_reason":"length","index":0,"message":{"role":"assistant","content":" all long"}}],"created":1796018230,"model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion","usage":{"completion_tokens":2,"prompt_tokens":64,"total_tokens":66,"prompt_tokens_details":{"cached_tokens":0}},"id":"chatcmpl-QNAJSHEi0sJonUQN80CvPNVoAzSwIxOu","timings":{"cache_n":0,"prompt_n":64,"prompt_ms":2.894,"prompt_per_token_ms":0.04521875,"prompt_per_second":22114.7201105736,"predicted_n":2,"predicted_ms":0.253,"predicted_per_token_ms":0.253,"predicted_per_second":3952.5691699604745}})~"},
    {"/v1/chat/completions, stream", llama::receipt{64, 29, std::chrono::microseconds(2352)},
     R"~(data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1796018230,"id":"chatcmpl-LO64pusuty8BrqGC9KmnSaYU8HWS92rj","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" door"}}],"created":1796018230,"id":"chatcmpl-LO64pusuty8BrqGC9KmnSaYU8HWS92rj","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" by"}}],"created":1796018230,"id":"chatcmpl-LO64pusuty8BrqGC9KmnSaYU8HWS92rj","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}

data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1796018230,"id":"chatcmpl-LO64pusuty8BrqGC9KmnSaYU8HWS92rj","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","timings":{"cache_n":64,"prompt_n":29,"prompt_ms":2.352,"prompt_per_token_ms":0.08110344827586206,"prompt_per_second":12329.931972789116,"predicted_n":2,"predicted_ms":0.466,"predicted_per_token_ms":0.466,"predicted_per_second":2145.9227467811156}}

data: [DONE]

)~"},
    {"/v1/chat/completions, stream with include_usage, timings_per_token, return_progress", llama::receipt{63, 1, std::chrono::microseconds(356)},
     R"~(data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1796018230,"id":"chatcmpl-ZacW3BKU5yehQQTYsyk1fAT77RpuHtGL","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","timings":{"cache_n":63,"prompt_n":0,"prompt_ms":0.0,"prompt_per_token_ms":0.0,"prompt_per_second":0.0,"predicted_n":0,"predicted_ms":0.0,"predicted_per_token_ms":0.0,"predicted_per_second":0.0},"prompt_progress":{"total":64,"cache":63,"processed":63,"time_ms":0}}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1796018230,"id":"chatcmpl-ZacW3BKU5yehQQTYsyk1fAT77RpuHtGL","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","timings":{"cache_n":63,"prompt_n":1,"prompt_ms":0.338,"prompt_per_token_ms":0.338,"prompt_per_second":2958.5798816568044,"predicted_n":0,"predicted_ms":0.0,"predicted_per_token_ms":0.0,"predicted_per_second":0.0},"prompt_progress":{"total":64,"cache":63,"processed":64,"time_ms":0}}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}],"created":1796018230,"id":"chatcmpl-ZacW3BKU5yehQQTYsyk1fAT77RpuHtGL","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" all"}}],"created":1796018230,"id":"chatcmpl-ZacW3BKU5yehQQTYsyk1fAT77RpuHtGL","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","timings":{"cache_n":63,"prompt_n":1,"prompt_ms":0.356,"prompt_per_token_ms":0.356,"prompt_per_second":2808.9887640449438,"predicted_n":1,"predicted_ms":0.001,"predicted_per_token_ms":0.0,"predicted_per_second":0.0}}

data: {"choices":[{"finish_reason":null,"index":0,"delta":{"content":" when"}}],"created":1796018230,"id":"chatcmpl-ZacW3BKU5yehQQTYsyk1fAT77RpuHtGL","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","timings":{"cache_n":63,"prompt_n":1,"prompt_ms":0.356,"prompt_per_token_ms":0.356,"prompt_per_second":2808.9887640449438,"predicted_n":2,"predicted_ms":0.353,"predicted_per_token_ms":0.353,"predicted_per_second":2832.8611898016998}}

data: {"choices":[{"finish_reason":"length","index":0,"delta":{}}],"created":1796018230,"id":"chatcmpl-ZacW3BKU5yehQQTYsyk1fAT77RpuHtGL","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk"}

data: {"choices":[],"created":1796018230,"id":"chatcmpl-ZacW3BKU5yehQQTYsyk1fAT77RpuHtGL","model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion.chunk","usage":{"completion_tokens":2,"prompt_tokens":64,"total_tokens":66,"prompt_tokens_details":{"cached_tokens":63}},"timings":{"cache_n":63,"prompt_n":1,"prompt_ms":0.356,"prompt_per_token_ms":0.356,"prompt_per_second":2808.9887640449438,"predicted_n":2,"predicted_ms":0.353,"predicted_per_token_ms":0.353,"predicted_per_second":2832.8611898016998}}

data: [DONE]

)~"},
    {"/v1/chat/completions with verbose", llama::receipt{63, 1, std::chrono::microseconds(325)},
     R"~({"choices":[{"finish_reason":"length","index":0,"message":{"role":"assistant","content":" all long"}}],"created":1796018230,"model":"tiny-llama","system_fingerprint":"b11669-Debian","object":"chat.completion","usage":{"completion_tokens":2,"prompt_tokens":64,"total_tokens":66,"prompt_tokens_details":{"cached_tokens":63}},"id":"chatcmpl-lXgt3IfS7aHxeu386oOUS5qJ6Hkpvpdf","__verbose":{"index":0,"content":" all long","tokens":[],"id_slot":0,"stop":true,"model":"tiny-llama","tokens_predicted":2,"tokens_evaluated":64,"generation_settings":{"seed":4294967295,"temperature":0.800000011920929,"dynatemp_range":0.0,"dynatemp_exponent":1.0,"top_k":40,"top_p":0.949999988079071,"min_p":0.05000000074505806,"top_n_sigma":-1.0,"xtc_probability":0.0,"xtc_threshold":0.10000000149011612,"typical_p":1.0,"repeat_last_n":64,"repeat_penalty":1.0,"presence_penalty":0.0,"frequency_penalty":0.0,"dry_multiplier":0.0,"dry_base":1.75,"dry_allowed_length":2,"dry_penalty_last_n":64,"dry_sequence_breakers":["\n",":","\"","*"],"mirostat":0,"mirostat_tau":5.0,"mirostat_eta":0.10000000149011612,"adaptive_target":-1.0,"adaptive_decay":0.8999999761581421,"stop":[],"max_tokens":2,"n_predict":2,"n_keep":0,"n_discard":0,"ignore_eos":false,"stream":false,"logit_bias":[],"n_probs":0,"min_keep":0,"grammar":"","grammar_lazy":false,"grammar_triggers":[],"preserved_tokens":[],"chat_format":"peg-native","reasoning_format":"deepseek","reasoning_in_content":false,"generation_prompt":"<|im_start|>assistant\n","samplers":["penalties","dry","top_n_sigma","top_k","typ_p","top_p","min_p","xtc","temperature"],"speculative.types":"none","timings_per_token":false,"post_sampling_probs":false,"backend_sampling":false,"lora":[]},"prompt":"<|im_start|>user\nText with \"timings\":{\"cache_n\":7,\"prompt_n\":7} and \\<|im_end|>\n<|im_start|>assistant\n","has_new_line":false,"truncated":false,"stop_type":"limit","stopping_word":"","tokens_cached":65,"timings":{"cache_n":63,"prompt_n":1,"prompt_ms":0.325,"prompt_per_token_ms":0.325,"prompt_per_second":3076.9230769230767,"predicted_n":2,"predicted_ms":0.149,"predicted_per_token_ms":0.149,"predicted_per_second":6711.4093959731545}},"timings":{"cache_n":63,"prompt_n":1,"prompt_ms":0.325,"prompt_per_token_ms":0.325,"prompt_per_second":3076.9230769230767,"predicted_n":2,"predicted_ms":0.149,"predicted_per_token_ms":0.149,"predicted_per_second":6711.4093959731545}})~"},
    {"/v1/responses", llama::receipt{63, 1},
     R"~({"completed_at":1796018230,"created_at":1796018230,"id":"resp_NvHgtC1FUNKkW4LwqJJ9YHIB2pE9zP3Z","model":"tiny-llama","object":"response","output":[{"content":[{"type":"output_text","annotations":[],"logprobs":[],"text":" all long"}],"id":"msg_WNPPsBYQq9RZIDYTQJo3DKe9rjdvrEqk","role":"assistant","status":"completed","type":"message"}],"status":"completed","usage":{"input_tokens":64,"output_tokens":2,"total_tokens":66,"input_tokens_details":{"cached_tokens":63}}})~"},
    {"/v1/responses, stream", llama::receipt{51, 14, std::chrono::microseconds(1221)},
     R"~(event: response.created
data: {"type":"response.created","response":{"id":"resp_ZCXLo2PZkhYojOmtp8aVyC6sTRKf4mnn","object":"response","status":"in_progress"}}

event: response.in_progress
data: {"type":"response.in_progress","response":{"id":"resp_ZCXLo2PZkhYojOmtp8aVyC6sTRKf4mnn","object":"response","status":"in_progress"}}

event: response.output_item.added
data: {"type":"response.output_item.added","item":{"content":[],"id":"msg_96kD6jCCz2cOdFpbNUQn04x0lChbKxPn","role":"assistant","status":"in_progress","type":"message"}}

event: response.content_part.added
data: {"type":"response.content_part.added","item_id":"msg_96kD6jCCz2cOdFpbNUQn04x0lChbKxPn","part":{"type":"output_text","text":""}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_96kD6jCCz2cOdFpbNUQn04x0lChbKxPn","delta":" all"}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_96kD6jCCz2cOdFpbNUQn04x0lChbKxPn","delta":" horse"}

event: response.output_text.done
data: {"type":"response.output_text.done","item_id":"msg_96kD6jCCz2cOdFpbNUQn04x0lChbKxPn","text":" all horse"}

event: response.content_part.done
data: {"type":"response.content_part.done","item_id":"msg_96kD6jCCz2cOdFpbNUQn04x0lChbKxPn","part":{"type":"output_text","annotations":[],"logprobs":[],"text":" all horse"}}

event: response.output_item.done
data: {"type":"response.output_item.done","item":{"type":"message","status":"completed","id":"msg_96kD6jCCz2cOdFpbNUQn04x0lChbKxPn","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":" all horse"}],"role":"assistant"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_ZCXLo2PZkhYojOmtp8aVyC6sTRKf4mnn","object":"response","created_at":1796018230,"status":"completed","model":"tiny-llama","output":[{"type":"message","status":"completed","id":"msg_96kD6jCCz2cOdFpbNUQn04x0lChbKxPn","content":[{"type":"output_text","annotations":[],"logprobs":[],"text":" all horse"}],"role":"assistant"}],"usage":{"input_tokens":65,"output_tokens":2,"total_tokens":67,"input_tokens_details":{"cached_tokens":51}}},"timings":{"cache_n":51,"prompt_n":14,"prompt_ms":1.221,"prompt_per_token_ms":0.08721428571428572,"prompt_per_second":11466.011466011465,"predicted_n":2,"predicted_ms":0.293,"predicted_per_token_ms":0.293,"predicted_per_second":3412.969283276451}}

)~"},
    {"/v1/messages", llama::receipt{51, 13},
     R"~({"id":"chatcmpl-8thF126unuyB19054O32l6NuGbdSZLGh","type":"message","role":"assistant","content":[{"type":"text","text":" all one"}],"model":"tiny-llama","stop_reason":"max_tokens","stop_sequence":null,"usage":{"cache_read_input_tokens":51,"input_tokens":13,"output_tokens":2}})~"},
    {"/v1/messages, stream", llama::receipt{64, 29},
     R"~(event: message_start
data: {"type":"message_start","message":{"id":"chatcmpl-3XD2SnM8Hw35A20iEyZDzCbZiJ5AzFC8","type":"message","role":"assistant","content":[],"model":"tiny-llama","stop_reason":null,"stop_sequence":null,"usage":{"cache_read_input_tokens":64,"input_tokens":29,"output_tokens":0}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" all"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" that"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

)~"},
    {"/v1/messages/count_tokens", std::nullopt,
     R"~({"input_tokens":64})~"},
    {"/v1/chat/completions, refused", std::nullopt,
     R"~({"error":{"code":400,"message":"Expected 'messages' to be an array","type":"invalid_request_error"}})~"},
}};
// clang-format on

} // namespace hibernate::test
