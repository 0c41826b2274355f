# fish completion for llama-hibernate

function __llama_hibernate_in_store
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = store
end

# The command after "store", or nothing.
function __llama_hibernate_store_command
    __llama_hibernate_in_store; or return
    set -l words (commandline -opc)
    set -l skip no
    for word in $words[3..-1]
        if test $skip = yes
            set skip no
            continue
        end
        switch $word
            case '--hibernate-*=*'
            case '--hibernate-*'
                set skip yes
            case '-*'
            case '*'
                echo $word
                return
        end
    end
end

function __llama_hibernate_store_needs_command
    __llama_hibernate_in_store; and test -z (__llama_hibernate_store_command | string collect -a)
end

function __llama_hibernate_store_is
    contains -- (__llama_hibernate_store_command | string collect -a) $argv
end

function __llama_hibernate_first
    test (count (commandline -opc)) -eq 1
end

function __llama_hibernate_in_status
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = status
end

function __llama_hibernate_serves
    not __llama_hibernate_in_store; and not __llama_hibernate_in_status
end

# The store that the line names, else the one that llama-hibernate would use.
function __llama_hibernate_snapshots
    set -l words (commandline -opc)
    set -l store
    for i in (seq 2 (count $words))
        if test $words[$i] = --hibernate-dir; and test $i -lt (count $words)
            set store --hibernate-dir (string replace -r '^~/' "$HOME/" -- $words[(math $i + 1)])
        else if string match -q -- '--hibernate-dir=*' $words[$i]
            set store --hibernate-dir (string replace -r '^--hibernate-dir=' '' -- $words[$i] | string replace -r '^~/' "$HOME/")
        end
    end
    $words[1] store $store ls --json 2>/dev/null |
        awk -F'"' '$2 == "directory" { model = $4 } $2 == "id" { print $4 "\t" model }'
end

complete -c llama-hibernate -n __llama_hibernate_first -a run -d 'serve'
complete -c llama-hibernate -n __llama_hibernate_first -a store -d 'look after the saved conversations'
complete -c llama-hibernate -n __llama_hibernate_first -a status -d 'show what a running one does'
complete -c llama-hibernate -n __llama_hibernate_first -l help -d 'show the help'
complete -c llama-hibernate -n __llama_hibernate_first -l version -d 'show the version'

complete -c llama-hibernate -n __llama_hibernate_serves -s m -l model -r -k -a '(__fish_complete_suffix .gguf)' -d 'the model'
complete -c llama-hibernate -n __llama_hibernate_serves -l host -x -d 'where to listen'
complete -c llama-hibernate -n __llama_hibernate_serves -l port -x -d 'where to listen'

complete -c llama-hibernate -l hibernate-dir -x -a '(__fish_complete_directories)' -d 'where the conversations are kept'
complete -c llama-hibernate -l hibernate-name -x -d 'names the folder of the model'
complete -c llama-hibernate -l hibernate-server -r -d 'the llama-server to run'
complete -c llama-hibernate -l hibernate-max-disk -x -d 'what all snapshots may take'
complete -c llama-hibernate -l hibernate-min-free -x -d 'what stays free on the disk'
complete -c llama-hibernate -l hibernate-stop-budget -x -d 'how long a stop may take'
complete -c llama-hibernate -l hibernate-drain -x -d 'how long requests go on at a stop'
complete -c llama-hibernate -l hibernate-restore -x -a 'all slots none' -d 'what is restored at start'
complete -c llama-hibernate -l hibernate-adopt -x -a '(__fish_complete_directories)' -d 'slot files to take into the store'
complete -c llama-hibernate -l hibernate-boundary -x -a 'auto always never' -d 'whether prompts are saved apart'
complete -c llama-hibernate -l hibernate-restore-memory -x -d 'what may go into the RAM cache'
complete -c llama-hibernate -l hibernate-idle-save -x -d 'the pause after which a slot is saved'
complete -c llama-hibernate -l hibernate-write-budget -x -d 'what idle saves may write in a day'
complete -c llama-hibernate -l hibernate-min-tokens -x -d 'shorter conversations are not saved'
complete -c llama-hibernate -l hibernate-restore-budget -x -d 'how long restoring may take'
complete -c llama-hibernate -l hibernate-health-hold -x -d 'how long a health request may wait'
complete -c llama-hibernate -l hibernate-internal -x -a 'tcp unix' -d 'how llama-server is reached'
complete -c llama-hibernate -l hibernate-max-connections -x -d 'client connections at once'
complete -c llama-hibernate -l hibernate-compat -x -a 'build format' -d 'what a snapshot shares with llama-server'
complete -c llama-hibernate -l hibernate-half-close -x -a 'abort keep' -d 'when a client closes its sending side'
complete -c llama-hibernate -l hibernate-on-exit -x -a 'exit restart' -d 'when llama-server dies by itself'
complete -c llama-hibernate -l hibernate-log-level -x -a 'debug info warning error off' -d 'which of our lines are written'
complete -c llama-hibernate -l hibernate-log-format -x -a 'text json' -d 'how our lines are written'
complete -c llama-hibernate -l hibernate-print-config -d 'print each option and where it comes from'
complete -c llama-hibernate -l hibernate-config -r -k -a '(__fish_complete_suffix .json)' -d 'the configuration file'

complete -c llama-hibernate -n __llama_hibernate_in_status -f -a 'http:// https:// unix:/'
complete -c llama-hibernate -n __llama_hibernate_in_status -l json -d 'as JSON'
complete -c llama-hibernate -n __llama_hibernate_in_status -l model-dir -x -a '(__fish_complete_directories)' -d 'what is on disk instead'
complete -c llama-hibernate -n __llama_hibernate_in_status -l api-key -x -d 'the key of llama-server'

complete -c llama-hibernate -n __llama_hibernate_in_store -f
complete -c llama-hibernate -n __llama_hibernate_store_needs_command -a ls -d 'list what is stored'
complete -c llama-hibernate -n __llama_hibernate_store_needs_command -a show -d 'tell all about a snapshot'
complete -c llama-hibernate -n __llama_hibernate_store_needs_command -a verify -d 'compare snapshots with their checksums'
complete -c llama-hibernate -n __llama_hibernate_store_needs_command -a gc -d 'remove what is useless or too much'
complete -c llama-hibernate -n __llama_hibernate_store_needs_command -a rm -d 'remove snapshots'
complete -c llama-hibernate -n __llama_hibernate_store_needs_command -a pin -d 'keep snapshots from being evicted'
complete -c llama-hibernate -n __llama_hibernate_store_needs_command -a unpin -d 'let them be evicted again'
complete -c llama-hibernate -n __llama_hibernate_store_needs_command -a release -d 'let quarantined or retired snapshots be tried again'
complete -c llama-hibernate -n '__llama_hibernate_store_is show verify rm pin unpin release' -a '(__llama_hibernate_snapshots)'
complete -c llama-hibernate -n '__llama_hibernate_store_is ls' -l json -d 'as JSON, with everything that is known'
complete -c llama-hibernate -n '__llama_hibernate_store_is gc' -l dry-run -d 'only tell what would go'
complete -c llama-hibernate -n '__llama_hibernate_store_is gc' -l max-disk -x -d 'the bound'
complete -c llama-hibernate -n '__llama_hibernate_store_is rm' -l model -x -d 'all of this model'
complete -c llama-hibernate -n '__llama_hibernate_store_is rm' -l all -d 'all that are not pinned'
