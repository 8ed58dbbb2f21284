# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Completion of metagroup for bash: the program itself prints the candidates.

_metagroup() {
    local program=$1 begin=$2
    # Readline also splits at : and =, which stand within events and options.
    local -a words
    read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
    [[ ${COMP_LINE:0:COMP_POINT} != *[[:space:]] ]] || words+=('')
    local word=${words[-1]#[\"\']}
    words[-1]=$word
    local before=${word%"$begin"} candidate

    COMPREPLY=()
    while IFS=$'\t' read -r candidate _; do
        case $candidate in
        :list) compopt -o nospace 2>/dev/null ;;
        :files) compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$begin") ;;
        :commands) mapfile -t COMPREPLY < <(compgen -c -- "$begin") ;;
        *) COMPREPLY+=("${candidate#"$before"}") ;;
        esac
    done < <("$program" complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _metagroup metagroup
