# bash completion for llama-hibernate

# The store that the line names, else the one that llama-hibernate would use.
_llama_hibernate_snapshots()
{
    local -a store=()
    local i
    for ((i = 1; i < cword; i++)); do
        if [[ ${words[i]} == --hibernate-dir ]]; then
            store=(--hibernate-dir "${words[i + 1]/#\~\//$HOME/}")
        elif [[ ${words[i]} == --hibernate-dir=* ]]; then
            store=("${words[i]/=\~\//=$HOME/}")
        fi
    done
    "${words[0]/#\~\//$HOME/}" store "${store[@]}" ls --json 2>/dev/null |
        awk -F'"' '$2 == "id" { print $4 }'
}

_llama_hibernate_options='
    --hibernate-dir --hibernate-name --hibernate-server --hibernate-max-disk --hibernate-min-free
    --hibernate-stop-budget --hibernate-drain --hibernate-restore --hibernate-adopt --hibernate-boundary
    --hibernate-restore-memory --hibernate-idle-save --hibernate-write-budget
    --hibernate-min-tokens --hibernate-restore-budget --hibernate-health-hold
    --hibernate-internal --hibernate-max-connections --hibernate-compat --hibernate-half-close
    --hibernate-on-exit --hibernate-log-level --hibernate-log-format --hibernate-config
    --hibernate-print-config'

# Completes the value of an option of ours; fails if the word before is none.
_llama_hibernate_value()
{
    local choices=
    case $prev in
        --hibernate-dir | --hibernate-adopt) _filedir -d; return ;;
        --hibernate-config) _filedir json; return ;;
        --hibernate-server) _filedir; COMPREPLY+=($(compgen -c -- "$cur")); return ;;
        --hibernate-restore) choices='all slots none' ;;
        --hibernate-boundary) choices='auto always never' ;;
        --hibernate-internal) choices='tcp unix' ;;
        --hibernate-compat) choices='build format' ;;
        --hibernate-half-close) choices='abort keep' ;;
        --hibernate-on-exit) choices='exit restart' ;;
        --hibernate-log-level) choices='debug info warning error off' ;;
        --hibernate-log-format) choices='text json' ;;
        --hibernate-print-config) return 1 ;; # takes no value
        --hibernate-*) ;; # a time, a size, a number or a name
        *) return 1 ;;
    esac
    COMPREPLY=($(compgen -W "$choices" -- "$cur"))
}

_llama_hibernate_store()
{
    local command= i
    for ((i = 2; i < cword; i++)); do
        case ${words[i]} in
            --hibernate-*=* | --hibernate-print-config) ;;
            --hibernate-*) [[ ${words[i + 1]} == = ]] && ((i++)); ((i++)) ;;
            -*) ;;
            *) command=${words[i]}; break ;;
        esac
    done
    if [[ ! $command ]]; then
        COMPREPLY=($(compgen -W 'ls show verify gc rm pin unpin release --help --hibernate-dir' -- "$cur"))
        return
    fi
    if [[ $cur == -* ]]; then
        local flags=
        case $command in
            ls) flags=--json ;;
            gc) flags='--dry-run --max-disk' ;;
            rm) flags='--model --all' ;;
        esac
        COMPREPLY=($(compgen -W "$flags --help --hibernate-dir" -- "$cur"))
        return
    fi
    case $command:$prev in
        gc:--max-disk | rm:--model) ;;
        show:* | verify:* | rm:* | pin:* | unpin:* | release:*)
            COMPREPLY=($(compgen -W "$(_llama_hibernate_snapshots)" -- "$cur"))
            ;;
    esac
}

_llama_hibernate_status()
{
    case $prev in
        --model-dir) _filedir -d; return ;;
        --api-key) return ;;
    esac
    case $cur in
        -*) COMPREPLY=($(compgen -W '--json --model-dir --api-key --help --hibernate-dir' -- "$cur")) ;;
        *) COMPREPLY=($(compgen -W 'http:// https:// unix:/' -- "$cur")); compopt -o nospace ;;
    esac
}

_llama_hibernate()
{
    local cur prev words cword split
    _init_completion -s || return
    _llama_hibernate_value && return
    if [[ ${words[1]} == store && $cword -gt 1 ]]; then
        _llama_hibernate_store
        return
    fi
    if [[ ${words[1]} == status && $cword -gt 1 ]]; then
        _llama_hibernate_status
        return
    fi
    case $prev in
        -m | --model | -md | --model-draft | --mmproj | --lora) _filedir gguf; return ;;
    esac
    if [[ $cur == -* ]]; then
        COMPREPLY=($(compgen -W "$_llama_hibernate_options --model --host --port --help --version" -- "$cur"))
        return
    fi
    _filedir
    if ((cword == 1)); then
        COMPREPLY+=($(compgen -W 'run store status' -- "$cur"))
    fi
} && complete -F _llama_hibernate llama-hibernate
