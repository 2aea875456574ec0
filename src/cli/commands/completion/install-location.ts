import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { absolute, userFolder } from '../../../files/data-dir.js'
import { platform as ownPlatform, type Platform } from '../../../files/platform.js'
import { inSingleQuotes } from '../../../values/shell-word.js'
import { configDir } from '../../config/config.js'
import type { Host } from '../../host/host.js'
import { scriptFiles } from './scripts.js'
import type { Shell } from './shells.js'

export interface InstallLocation {
  readonly script: string
  /** The shell's startup file, and lines for it that load the script; absent if the shell finds the script itself. */
  readonly startup?: { readonly path: string; readonly lines: readonly string[] }
}

type LocationResult = InstallLocation | 'startup file unknown' | 'no startup file'

/** Finds where to install completion for a shell. @param named a startup file in place of the usual one */
export function installLocation(
  shell: Shell,
  { env, homeDir, cwd }: Pick<Host, 'env' | 'homeDir' | 'cwd'>,
  named: string | undefined,
  platform: Platform = ownPlatform,
): LocationResult {
  const data = userFolder({ env, homeDir }, 'DATA')
  const config = userFolder({ env, homeDir }, 'CONFIG')
  const startup = named === undefined ? startupOf(shell, { env, homeDir }, config, platform) : resolve(cwd, named)
  switch (shell) {
    case 'bash': {
      // bash-completion loads the script from this folder; the startup file serves systems without bash-completion.
      const folder = absolute(env.BASH_COMPLETION_USER_DIR?.split(':')[0]) ?? join(data, 'bash-completion')
      const script = join(folder, 'completions', 'voucherctl')
      const at = inSingleQuotes(script)
      return withStartup(script, startup, [`if [ -n "$BASH_VERSION" ] && [ -r ${at} ]; then . ${at}; fi`])
    }
    case 'zsh': {
      const script = join(data, 'zsh', 'site-functions', scriptFiles.zsh)
      const at = inSingleQuotes(script)
      return withStartup(script, startup, [
        `if [[ -r ${at} ]]; then`,
        '  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }',
        `  source ${at}`,
        'fi',
      ])
    }
    case 'fish':
      if (named !== undefined) return 'no startup file'
      return { script: join(config, 'fish', 'completions', scriptFiles.fish) }
    case 'powershell': {
      const script = join(configDir({ env, homeDir }), 'completion', scriptFiles.powershell)
      const at = `'${script.replaceAll("'", "''")}'`
      return withStartup(script, startup, [`if (Test-Path -LiteralPath ${at}) { . ${at} }`])
    }
  }
}

function withStartup(script: string, path: string | undefined, lines: readonly string[]): LocationResult {
  return path === undefined ? 'startup file unknown' : { script, startup: { path, lines } }
}

function startupOf(
  shell: Shell,
  { env, homeDir }: Pick<Host, 'env' | 'homeDir'>,
  config: string,
  platform: Platform,
): string | undefined {
  if (shell === 'zsh') return join(absolute(env.ZDOTDIR) ?? homeDir, '.zshrc')
  // On Windows only PowerShell can tell where the folder of its profile is.
  if (shell === 'powershell')
    return platform.hasFixedPowershellProfile
      ? join(config, 'powershell', 'Microsoft.PowerShell_profile.ps1')
      : undefined
  if (!platform.startsLoginShells) return join(homeDir, '.bashrc')
  // macOS terminals start login shells, which read only the first of these files that exists, so use that file.
  const known = ['.bash_profile', '.bash_login', '.profile'].map((it) => join(homeDir, it))
  return known.find((it) => existsSync(it)) ?? known[0]
}
