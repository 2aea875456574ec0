import { spawn } from 'node:child_process'
import { type Platform, platform } from '../../../files/platform.js'
import type { Host } from '../../host/host.js'
import { withoutSecrets } from '../../host/secrets.js'

type Command = readonly [program: string, ...args: string[]]

export const openerOf = ({ opener }: Platform, url: string): Command => [...opener, url]

/** Starts the user's browser without waiting for it; false without a display or a program that opens URLs. */
export async function openBrowser({ env }: Host, url: string): Promise<boolean> {
  // Without a display xdg-open starts, and fails later.
  const displays = [env.DISPLAY, env.WAYLAND_DISPLAY, env.BROWSER, env.WSL_DISTRO_NAME]
  if (platform.namesDisplay && !displays.some(Boolean)) return false
  const [program, ...args] = openerOf(platform, url)
  const child = spawn(program, args, { detached: true, stdio: 'ignore', env: withoutSecrets(env) })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
