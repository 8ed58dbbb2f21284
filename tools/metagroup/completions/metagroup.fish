# SPDX-License-Identifier: MIT
# Completion of metagroup for fish: the program itself prints the candidates.

function __metagroup_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program complete -- $words $word 2>/dev/null)
        switch $line
            case ':list'
            case ':files'
                __fish_complete_path $word
            case ':commands'
                __fish_complete_command
            case '*'
                echo $line
        end
    end
end
complete -c metagroup -f -a '(__metagroup_complete)'
