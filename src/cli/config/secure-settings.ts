import type { SecureMode } from '../../secure/client/options.js'
import { arePins } from '../../secure/client/pins.js'
import { isCanonicalOrigin } from '../../secure/origin.js'
import type { Failure } from '../failure.js'
import { type Globals, secureModes } from '../flags/globals.js'
import type { Profile, SecureProfile } from './config.js'
import { byDefault, choose, first, invalid, type Setting, type SettingSources } from './setting.js'

/** How calls are encrypted, each value with its source. */
export interface SecureSettings {
  readonly mode: Setting<SecureMode>
  /** Origin header of sessions; undefined sends none. */
  readonly origin: Setting<string | undefined>
  /** Pins of the server's key; empty accepts any key. */
  readonly pins: Setting<readonly string[]>
  /** Origins with downgrade protection: `auto` never falls back to plain text there. */
  readonly latched: Setting<readonly string[]>
}

/**
 * Resolves flag > environment > project file > profile > default, with one exception: another user may have written the
 * project file, so it can make a profile's transport only stricter. Its less strict mode is ignored, and so are its
 * pins if the profile has pins. A profile that it selects is never less strict than the current profile.
 * @param floor the current profile, if a project file selected another one for the same server
 */
export function resolveSecure(
  globals: Globals,
  places: SettingSources,
  shared: SecureProfile,
  own: SecureProfile,
  floor: { readonly profile: Profile; readonly source: string } | undefined,
): { readonly ok: true; readonly settings: SecureSettings } | Failure {
  const { projectSource, profileSource } = places
  const least = floor?.profile.secure ?? {}
  const floorSource = floor?.source ?? ''
  const isBelowFloor = strictness(own.mode) < strictness(least.mode)
  const mine = isBelowFloor ? least.mode : own.mode
  const lowered = strictness(shared.mode) >= 0 && strictness(shared.mode) < strictness(mine)
  const mode =
    choose<SecureMode>(
      isBelowFloor ? { ...places, profileSource: floorSource } : places,
      [globals.secure, 'secure'],
      'VOUCHERCTL_SECURE',
      lowered ? undefined : shared.mode,
      mine,
    ) ?? byDefault('off')
  const origin =
    choose(places, [globals.origin, 'origin'], 'VOUCHERCTL_ORIGIN', shared.origin, own.origin) ?? byDefault(undefined)
  const pins =
    first<readonly string[]>(
      [least.pins?.length === 0 ? undefined : least.pins, floorSource],
      [own.pins, profileSource],
      [shared.pins, projectSource],
    ) ?? byDefault([])
  const problem =
    (strictness(mode.value) < 0
      ? invalid('secure.mode', mode, `must be one of ${secureModes.join(', ')}`)
      : undefined) ??
    (origin.value === undefined || isCanonicalOrigin(origin.value)
      ? undefined
      : invalid('secure.origin', origin, 'must be a full origin such as https://shop.example')) ??
    (arePins(pins.value)
      ? undefined
      : invalid('secure.pins', pins, 'must be two pins at most, sha256: and 43 characters'))
  const latched = {
    value: [...new Set([...(least.latched ?? []), ...(own.latched ?? [])])],
    source:
      [
        ...(least.latched === undefined ? [] : [floorSource]),
        ...(own.latched === undefined ? [] : [profileSource]),
      ].join(', ') || 'default',
  }
  return problem ?? { ok: true, settings: { mode, origin, pins, latched } }
}

/** Index of a mode; -1 if it is unknown. */
const strictness = (mode: string | undefined) => secureModes.findIndex((it) => it === mode)
