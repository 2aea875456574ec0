import type { Word } from '../../host/host.js'
import type { CommandWords } from './command-words.js'
import { WORDS_VARIABLE } from './shells.js'

/** For Windows PowerShell 5.1 and 7. The script passes words in a variable, because 5.1 drops empty arguments. */
export const powershellScript = (
  commands: readonly CommandWords[],
): string => `# Completion of voucherctl for PowerShell. Made from the command tree: voucherctl completion powershell

Register-ArgumentCompleter -Native -CommandName @('voucherctl', 'voucherctl.cmd', 'voucherctl.ps1') -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = @{
${commands.flatMap(({ after, words }) => after.map((it) => `        ${quoted(it)} = @(${words.map(line).join(', ')})`)).join('\n')}
    }

    $current = ''
    $before = @()
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.StartOffset -ge $cursorPosition) { break }
        $text = $element.Extent.Text
        if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $text = $element.Value }
        if ($element.Extent.EndOffset -ge $cursorPosition) { $current = $text } else { $before += $text }
    }

    $kind = 'words'
    $lines = @($commands[($before -join ' ')] | Where-Object { $_ -and $_.StartsWith($current) })
    if ($lines.Count -eq 0) {
        $saved = $env:${WORDS_VARIABLE}
        try {
            $env:${WORDS_VARIABLE} = (@($before) + $current) -join "\`n"
            $answer = @(& voucherctl __complete powershell 2>$null)
        } catch {
            return
        } finally {
            $env:${WORDS_VARIABLE} = $saved
        }
        $kind = $answer | Select-Object -First 1
        $lines = @($answer | Select-Object -Skip 1)
    }
    # Nothing leaves file names to PowerShell itself.
    if ($kind -ne 'words') { return }
    foreach ($line in $lines) {
        $text, $summary = $line -split "\`t", 2
        if (-not $summary) { $summary = $text }
        [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $summary)
    }
}
`

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

/** Removes characters beyond ASCII, because PowerShell 5.1 reads a file without a byte order mark as Latin-1. */
const ascii = (text: string) => text.replaceAll('…', '...').replace(/[^ -~]/g, '')

const line = ({ value, summary }: Word) => `"${value}\`t${ascii(summary).replace(/["$`]/g, '`$&')}"`
