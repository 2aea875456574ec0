import type { Failure } from '../failures/failure.js'
import type { Globals } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { emptyConfig, readConfig } from './config.js'
import { combineSettings, type Settings } from './settings.js'

/** The settings that could be resolved, and a failure for each source that is invalid. */
export interface SettingsDiagnosis {
  readonly settings: Settings
  readonly config: Failure | undefined
  /** The failure of an invalid value; all settings then have their defaults. */
  readonly values: Failure | undefined
}

/** Resolves settings for commands that diagnose invalid ones; it never fails as a whole. */
export function diagnoseSettings(host: Host, globals: Globals): SettingsDiagnosis {
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
