import type { SecureMode } from '../../secure/client/options.js'
import { arePins } from '../../secure/client/pins.js'
import { isCanonicalOrigin } from '../../secure/origin.js'
import type { Failure } from '../failure.js'
import { fail } from '../failure.js'
import type { Globals } from '../flags/globals.js'
import { secureModes } from '../flags/globals.js'
import type { Profile } from './config.js'
import type { ProjectFile } from './project-file.js'
import type { Sourced } from './sourced.js'
import { first } from './sourced.js'

/** How calls are encrypted, each value with its source. */
export interface SecureSettings {
  readonly mode: Sourced<SecureMode>
  /** Of the sessions; undefined sends none. */
  readonly origin: Sourced<string | undefined>
  /** Empty: the server's key is taken as it comes. */
  readonly pins: Sourced<readonly string[]>
  /** Origins of servers that have encrypted before: `auto` never falls back to plain text there. */
  readonly latched: Sourced<readonly string[]>
}

interface SecureSources {
  readonly globals: Globals
  readonly env: Readonly<Record<string, string | undefined>>
  readonly project: ProjectFile | undefined
  readonly profile: Profile
  readonly profileSource: string
  /** The current profile, if a project file selected another one for the same server. */
  readonly floor: { readonly profile: Profile; readonly source: string } | undefined
}

/**
 * flag > environment > project file > profile > default, with one exception: somebody else may have written the project
 * file, so it can make a profile's transport stricter and never laxer. A lower mode is ignored, and so are its pins if
 * the profile has some. A profile that it selects is never laxer than the current profile.
 */
export function resolveSecure(
  sources: SecureSources,
): { readonly ok: true; readonly settings: SecureSettings } | Failure {
  const { globals, env, project, profile, profileSource, floor } = sources
  const projectSource = `project file ${project?.path ?? ''}`
  const shared = project?.members.secure ?? {}
  const own = profile.secure ?? {}
  const least = floor?.profile.secure ?? {}
  const floorSource = floor?.source ?? ''
  const isBelowFloor = strictness(own.mode) < strictness(least.mode)
  const [mine, mineSource] = isBelowFloor ? [least.mode, floorSource] : [own.mode, profileSource]
  const lowered = strictness(shared.mode) >= 0 && strictness(shared.mode) < strictness(mine)
  const mode = first<string>(
    [globals.secure, 'flag --secure'],
    [env.VOUCHERCTL_SECURE || undefined, 'environment VOUCHERCTL_SECURE'],
    [lowered ? undefined : shared.mode, projectSource],
    [mine, mineSource],
    ['off', 'default'],
  ) as Sourced<SecureMode>
  const origin = first<string>(
    [globals.origin, 'flag --origin'],
    [env.VOUCHERCTL_ORIGIN || undefined, 'environment VOUCHERCTL_ORIGIN'],
    [shared.origin, projectSource],
    [own.origin, profileSource],
  ) ?? { value: undefined, source: 'default' }
  const pins = first<readonly string[]>(
    [least.pins?.length === 0 ? undefined : least.pins, floorSource],
    [own.pins, profileSource],
    [shared.pins, projectSource],
    [[], 'default'],
  ) as Sourced<readonly string[]>
  const problem =
    (strictness(mode.value) >= 0
      ? undefined
      : invalid('secure.mode', mode, `must be one of ${secureModes.join(', ')}`)) ??
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

/** -1 for what is no mode. */
const strictness = (mode: string | undefined) => secureModes.findIndex((it) => it === mode)

function invalid(name: string, { source }: Sourced<unknown>, rule: string): Failure {
  return fail('CONFIG_INVALID', `The value of ${name} ${rule}.`, `It came from ${source}.`)
}
