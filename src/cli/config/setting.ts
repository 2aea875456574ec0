import type { SecureMode } from '../../secure/client/options.js'
import { arePins } from '../../secure/client/pins.js'
import { isCanonicalOrigin } from '../../secure/origin.js'
import { type Failure, fail } from '../failures/failure.js'
import { type Globals, secureModes } from '../flags/globals.js'
import type { Profile, SecureProfile } from './config.js'

/** A setting's value and where it comes from; `profile show --explain` prints both. */
export interface Setting<T> {
  readonly value: T
  readonly source: string
}

/** True if the value comes from a flag or an environment variable. */
export const isGivenForCall = ({ source }: Setting<unknown>): boolean => /^(flag|environment) /.test(source)

/** Returns the first candidate whose value is defined. */
export function first<T>(...candidates: readonly [value: T | undefined, source: string][]): Setting<T> | undefined {
  for (const [value, source] of candidates) if (value !== undefined) return { value, source }
  return undefined
}

export const byDefault = <T>(value: T): Setting<T> => ({ value, source: 'default' })

/** Names of the project file and the profile, the sources of settings besides flags and environment. */
export interface SettingSources {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly projectSource: string
  readonly profileSource: string
}

/** Resolves one setting in the order flag > environment > project file > profile. */
export function choose<T>(
  { env, projectSource, profileSource }: SettingSources,
  [flag, name]: readonly [value: T | undefined, name: string],
  variable: string | undefined,
  ofProject: unknown,
  ofProfile: unknown,
): Setting<T> | undefined {
  return first<unknown>(
    [flag, `flag --${name}`],
    [(variable && env[variable]) || undefined, `environment ${variable}`],
    [ofProject, projectSource],
    [ofProfile, profileSource],
  ) as Setting<T> | undefined
}

export const invalid = (name: string, { source }: Setting<unknown>, rule: string): Failure =>
  fail('CONFIG_INVALID', `The value of ${name} ${rule}.`, `It came from ${source}.`)

/** Encryption settings, each with its source. */
export interface SecureSettings {
  readonly mode: Setting<SecureMode>
  /** Value of the Origin header when an encrypted session is opened; undefined sends none. */
  readonly origin: Setting<string | undefined>
  /** Accepted keys of the server; an empty list accepts any key. */
  readonly pins: Setting<readonly string[]>
  /** Origins with downgrade protection: the mode `auto` never sends plain text to them. */
  readonly latched: Setting<readonly string[]>
}

/**
 * Resolves flag > environment > project file > profile > default, with one exception: another user may have written the
 * project file, so it can make encryption stricter but never weaker. Its weaker mode is ignored, and so are its pins
 * if the profile has pins. If it selects another profile, the current profile's mode and pins remain the minimum.
 * @param floor the current profile, if the project file selects another profile for the same server
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
  const latched = {
    value: [...new Set([...(least.latched ?? []), ...(own.latched ?? [])])],
    source:
      [
        ...(least.latched === undefined ? [] : [floorSource]),
        ...(own.latched === undefined ? [] : [profileSource]),
      ].join(', ') || 'default',
  }
  const settings = { mode, origin, pins, latched }
  return refuseInvalid(settings) ?? { ok: true, settings }
}

function refuseInvalid({ mode, origin, pins }: SecureSettings): Failure | undefined {
  if (strictness(mode.value) < 0) return invalid('secure.mode', mode, `must be one of ${secureModes.join(', ')}`)
  if (origin.value !== undefined && !isCanonicalOrigin(origin.value))
    return invalid('secure.origin', origin, 'must be a full origin such as https://shop.example')
  return arePins(pins.value)
    ? undefined
    : invalid('secure.pins', pins, 'must be two pins at most, sha256: and 43 characters')
}

/** Position of a mode from least to most strict; -1 for an unknown mode. */
const strictness = (mode: string | undefined) => secureModes.findIndex((it) => it === mode)
