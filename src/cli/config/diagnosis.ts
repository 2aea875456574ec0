import type { Globals } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { emptyConfig, readConfig } from './config.js'
import { combineSettings } from './settings.js'

export type SettingsDiagnosis = ReturnType<typeof diagnoseSettings>

/**
 * Resolves settings for commands that diagnose invalid ones. It never fails as a whole: it returns a failure for each
 * invalid source. With an invalid value, all settings have their defaults.
 */
export function diagnoseSettings(host: Host, globals: Globals) {
  const stored = readConfig(host)
  const config = stored.ok ? undefined : stored
  const nothingStored = { config: emptyConfig }
  const combined = combineSettings(host, globals, stored.ok ? stored : nothingStored)
  if (combined.ok) return { settings: combined.settings, config, values: undefined }
  const { XDG_DATA_HOME } = host.env
  const withoutUrl = { ...globals, 'base-url': undefined }
  const bare = combineSettings({ ...host, env: { XDG_DATA_HOME } }, withoutUrl, nothingStored)
  if (!bare.ok) throw new Error('the defaults must be right')
  return { settings: bare.settings, config, values: combined }
}
