import { parseBaseUrl } from '../../client/base-url.js'
import type { Latch } from '../../client/secure.js'
import { changeProfile } from '../config/config.js'
import type { Context } from './context.js'

/**
 * Stores in the profile that a server used the encrypted transport or required it with a 426: `auto` then never falls
 * back to plain text there. It writes once per server and does not create a missing profile.
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
      // Only `auto` depends on it: without it, an attacker could make a later call fall back to plain text.
      if (problem !== undefined && settings.secure.mode.value === 'auto') {
        output.notice(`warning: that ${origin} encrypts could not be remembered: ${problem.message}`)
      }
    },
  }
}

/** Sets downgrade protection after a refusal in mode `off`; in other modes the session sets it. */
export async function forbidPlaintext(context: Context, baseUrl: string, code: string): Promise<void> {
  if (context.settings.secure.mode.value !== 'off' || code !== 'SECURE_TRANSPORT_REQUIRED') return
  await downgradeProtection(context, baseUrl).set()
}
