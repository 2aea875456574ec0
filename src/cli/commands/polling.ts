import type { Context } from '../context.js'
import { createContext } from '../context.js'
import { resolveSettings } from '../settings.js'

/** The local server that started again is another process, and may listen elsewhere. */
export function anew(context: Context): Context {
  const { host, globals, settings, output } = context
  const resolved = settings.localServer === undefined ? undefined : resolveSettings(host, globals)
  return resolved?.ok ? createContext(host, globals, resolved.settings, output) : context
}

/** The longest that a server holds a poll (decisions.md 8, getUpdates). */
const HOLD_SECONDS_MAX = 50
/** The longest that one is held which travels encrypted (decisions.md 10, inner path). */
const HOLD_ENCRYPTED_SECONDS_MAX = 10

export const isEncrypted = ({ settings }: Context) => settings.secure.mode.value !== 'off'

export const longestHold = (context: Context) => (isEncrypted(context) ? HOLD_ENCRYPTED_SECONDS_MAX : HOLD_SECONDS_MAX)
