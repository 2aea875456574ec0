import type { Context } from '../context.js'
import { createContext } from '../context.js'
import { resolveSettings } from '../settings.js'

/** The local server that started again is another process, and may listen elsewhere. */
export function anew(context: Context): Context {
  const { host, globals, settings, output } = context
  const resolved = settings.localServer === undefined ? undefined : resolveSettings(host, globals)
  return resolved?.ok ? createContext(host, globals, resolved.settings, output) : context
}
