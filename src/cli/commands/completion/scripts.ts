import type { Entry } from '../../command/leaf.js'
import { bashScript } from './bash.js'
import { type CommandWords, commandWords } from './command-words.js'
import { fishScript } from './fish.js'
import { powershellScript } from './powershell.js'
import type { Shell } from './shells.js'
import { zshScript } from './zsh.js'

/** File name under which each shell finds its completion script. */
export const scriptFiles: Readonly<Record<Shell, string>> = {
  bash: 'voucherctl.bash',
  zsh: '_voucherctl',
  fish: 'voucherctl.fish',
  powershell: 'voucherctl.ps1',
}

const writers: Readonly<Record<Shell, (commands: readonly CommandWords[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
  powershell: powershellScript,
}

/**
 * Builds the completion script of a shell. The script contains the names of commands; for flags, values and unknown
 * names it calls voucherctl.
 */
export async function scriptFor(shell: Shell, entries: readonly Entry[]): Promise<string> {
  return writers[shell](await commandWords(entries))
}
