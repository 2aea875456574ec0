import type { Word } from '../../host/host.js'
import type { CommandWords } from './command-words.js'

export const zshScript = (commands: readonly CommandWords[]): string => `#compdef voucherctl
# Completion of voucherctl for zsh. Made from the command tree: voucherctl completion zsh

_voucherctl_commands() {
  case $1 in
${commands.map(({ after, words }) => `    (${after.map((it) => `'${it}'`).join('|')}) lines=(\n${words.map(line).join('')}    ) ;;`).join('\n')}
    (*) lines=() ;;
  esac
}

_voucherctl() {
  local kind program=voucherctl tab=$'\\t'
  local -a lines answer
  local typed="\${(Q)PREFIX}"
  _voucherctl_commands "\${(j: :)words[2,CURRENT-1]}"
  if (( \${#lines} )) && [[ -n \${(M)lines:#\${(b)typed}*} ]]; then
    kind=words
  else
    # Call the program by the typed path, if there is one.
    [[ \${(Q)words[1]} == */* && -x \${(Q)words[1]} ]] && program=\${(Q)words[1]}
    answer=("\${(@f)$(command "$program" __complete zsh "\${(@Q)words[2,CURRENT-1]}" "$typed" 2>/dev/null </dev/null)}")
    kind=$answer[1]
    lines=("\${(@)answer[2,-1]}")
  fi
  # A value behind --flag= is a separate word.
  [[ $PREFIX == --*=* ]] && compset -P 1 '*='
  case $kind in
    (words) _voucherctl_add ;;
    (files) _files ;;
    (folders) _files -/ ;;
  esac
}

# Adds what is in lines: a word, a tab and its summary each.
_voucherctl_add() {
  local one summary
  local -i width=0
  local -a values shown
  for one in "\${(@)lines}"; do
    values+=("\${one%%$tab*}")
    (( \${#values[-1]} > width )) && width=\${#values[-1]}
  done
  for one in "\${(@)lines}"; do
    summary=\${one#*$tab}
    one=\${(r:width:)one%%$tab*}
    shown+=("\${\${one}[1,COLUMNS-1]}")
    [[ -n $summary ]] && shown[-1]="\${\${:-$one  -- $summary}[1,COLUMNS-1]}"
  done
  compadd -V voucherctl -l -d shown -a values
}

if [[ \${funcstack[1]} == _voucherctl ]]; then
  _voucherctl "$@"
elif (( $+functions[compdef] )); then
  compdef _voucherctl voucherctl
fi
`

const line = ({ value, summary }: Word) => `      $'${value}\\t${summary.replace(/[\\']/g, '\\$&')}'\n`
