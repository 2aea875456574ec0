import type { CommandWords } from './command-words.js'

/** Runs in bash 3.2 (macOS) and later. */
export const bashScript = (
  commands: readonly CommandWords[],
): string => `# Completion of voucherctl for bash. Made from the command tree: voucherctl completion bash

_voucherctl_commands() {
  case $1 in
${commands.map(({ after, words }) => `    ${after.map((it) => `'${it}'`).join('|')}) REPLY='${words.map((it) => it.value).join(' ')}' ;;`).join('\n')}
    *) REPLY='' ;;
  esac
}

_voucherctl() {
  local IFS=$' \\t\\n' REPLY word kind program=voucherctl
  COMPREPLY=()
  _voucherctl_commands "\${COMP_WORDS[*]:1:COMP_CWORD-1}"
  for word in $REPLY; do
    [[ $word == "$2"* ]] && COMPREPLY+=("$word")
  done
  [[ \${#COMPREPLY[@]} -gt 0 ]] && return

  # Call the program by the typed path, if there is one.
  [[ \${COMP_WORDS[0]} == */* && -x \${COMP_WORDS[0]} ]] && program=\${COMP_WORDS[0]}
  {
    IFS= read -r kind
    while IFS=$'\\t' read -r word _; do COMPREPLY+=("$word"); done
  } < <(command "$program" __complete bash "\${COMP_LINE:0:COMP_POINT}" "$COMP_WORDBREAKS" 2>/dev/null </dev/null)
  case $kind in
    words) compopt -o nosort 2>/dev/null ;;
    files) compopt -o default 2>/dev/null || _voucherctl_paths -f "$2" ;;
    folders) compopt -o dirnames 2>/dev/null || _voucherctl_paths -d "$2" ;;
  esac
  return 0
}

# Where compopt is missing.
_voucherctl_paths() {
  local path
  while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$2")
}

complete -F _voucherctl voucherctl
`
