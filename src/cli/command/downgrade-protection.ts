import { parseBaseUrl } from '../../client/base-url.js'
import type { DowngradeProtection } from '../../client/secure.js'
import { changeProfile } from '../config/config.js'
import type { Context } from './context.js'

/**
 * Stores in the profile that a server used the encrypted transport, or required it with a 426: from then on `auto`
 * sends nothing in plain text to that server. It writes once per server and never creates a profile.
 */
export function downgradeProtection(
  { settings, host, output }: Pick<Context, 'settings' | 'host' | 'output'>,
  baseUrl: string,
): DowngradeProtection {
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
      // Fail only in mode `auto`: without the stored protection, an attacker could make a later call use plain text.
      if (problem !== undefined && settings.secure.mode.value === 'auto') {
        output.notice(`warning: that ${origin} encrypts could not be remembered: ${problem.message}`)
      }
    },
  }
}

/** Stores downgrade protection after a 426 in mode `off`; in other modes the encrypted session stores it. */
export async function forbidPlaintext(context: Context, baseUrl: string, code: string): Promise<void> {
  if (context.settings.secure.mode.value !== 'off' || code !== 'SECURE_TRANSPORT_REQUIRED') return
  await downgradeProtection(context, baseUrl).set()
}
