import type { Word } from '../../host/host.js'
import type { CommandWords } from './command-words.js'

/** Runs in fish 3 and later. */
export const fishScript = (
  commands: readonly CommandWords[],
): string => `# Completion of voucherctl for fish. Made from the command tree: voucherctl completion fish

function __voucherctl_commands
    switch "$argv"
${commands.map(({ after, words }) => `        case ${after.map(quoted).join(' ')}\n            printf '%s\\t%s\\n' \\\n${words.map(line).join(' \\\n')}`).join('\n')}
    end
end

function __voucherctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l known (__voucherctl_commands $words[2..-1])
    for line in $known
        if test (string sub -l (string length -- "$current") -- $line) = "$current"
            printf '%s\\n' $known
            return
        end
    end
    # Call the program by the typed path, if there is one.
    set -l program voucherctl
    if string match -q '*/*' -- $words[1]; and test -x $words[1]
        set program $words[1]
    end
    set -l answer (command $program __complete fish $words[2..-1] "$current" 2>/dev/null </dev/null)
    set -l before (string match -r '^--[^=]+=' -- "$current")
    set -l path (string replace -r '^--[^=]+=' '' -- "$current")
    switch "$answer[1]"
        case words
            printf '%s\\n' $answer[2..-1]
        case files
            printf '%s\\n' "$before"(__fish_complete_path "$path")
        case folders
            printf '%s\\n' "$before"(__fish_complete_directories "$path" '')
    end
end

complete -c voucherctl -e
complete -c voucherctl -f -k -a '(__voucherctl_complete)'
`

const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`

const line = ({ value, summary }: Word) => `                ${value} ${quoted(summary)}`
