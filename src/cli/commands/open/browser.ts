import { spawn } from 'node:child_process'
import process from 'node:process'
import type { Host } from '../../host/host.js'
import { withoutSecrets } from '../server/detach.js'

type Command = readonly [program: string, ...args: string[]]

/** Returns the program, with arguments, that opens a URL in the user's browser on a platform. */
export function openerOf(platform: NodeJS.Platform, url: string): Command {
  if (platform === 'darwin') return ['open', url]
  // `start` would need cmd, a shell that interprets & and % in the URL.
  if (platform === 'win32') return ['rundll32', 'url.dll,FileProtocolHandler', url]
  return ['xdg-open', url]
}

/** Starts the user's browser without waiting for it; false without a display or a program that opens URLs. */
export async function openBrowser({ env }: Host, url: string): Promise<boolean> {
  // Without a display xdg-open starts, and fails later.
  const displays = [env.DISPLAY, env.WAYLAND_DISPLAY, env.BROWSER, env.WSL_DISTRO_NAME]
  if (process.platform === 'linux' && !displays.some(Boolean)) return false
  const [program, ...args] = openerOf(process.platform, url)
  const child = spawn(program, args, { detached: true, stdio: 'ignore', env: withoutSecrets(env) })
  return new Promise((resolve) => {
    child.once('error', () => resolve(false))
    child.once('spawn', () => {
      child.unref()
      resolve(true)
    })
  })
}
