import { parseBaseUrl } from '../../client/base-url.js'
import type { Latch } from '../../client/secure.js'
import { changeProfile } from '../config/config.js'
import type { Context } from './context.js'

/**
 * Remembers in the profile that a server took part in the encrypted transport, or asked for it with a 426: `auto` never
 * goes back to plain text there. Written once for each server; a profile that does not exist yet is not made for it.
 */
export function downgradeProtection(
  { settings, host, output }: Pick<Context, 'settings' | 'host' | 'output'>,
  baseUrl: string,
): Latch {
  const { origin } = parseBaseUrl(baseUrl)
  const { secure, profileName, profileMissing } = settings
  let isSet = secure.latched.value.includes(origin)
  return {
    isSet: () => isSet,
    async set() {
      if (isSet) return
      isSet = true
      if (profileMissing) return
      const problem = await changeProfile(host, profileName.value, (before) => {
        const latched = new Set([...(before.secure?.latched ?? []), origin])
        return { ...before, secure: { ...before.secure, latched: [...latched] } }
      })
      // Only `auto` reads it: without it, a later call could be talked into plain text.
      if (problem !== undefined && settings.secure.mode.value === 'auto') {
        output.notice(`warning: that ${origin} encrypts could not be remembered: ${problem.message}`)
      }
    },
  }
}

/** Sets downgrade protection after a refusal in mode `off`; in the other modes the session has set it. */
export async function forbidPlaintext(context: Context, baseUrl: string, code: string): Promise<void> {
  if (context.settings.secure.mode.value !== 'off' || code !== 'SECURE_TRANSPORT_REQUIRED') return
  await downgradeProtection(context, baseUrl).set()
}
