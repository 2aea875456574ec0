import { parseBaseUrl } from '../../../client/base-url.js'
import { redact } from '../../../contract/secrets.js'
import { arePins } from '../../../secure/client/options.js'
import { defined } from '../../../values/json.js'
import type { Context } from '../../command/context.js'
import { type Group, leaf } from '../../command/leaf.js'
import { atServer, shownOnce } from '../../command/store-credential.js'
import {
  changeProfile,
  configFile,
  DEFAULT_PROFILE,
  findProfile,
  type Profile,
  profileNotFound,
  type SecureProfile,
  updateConfig,
} from '../../config/config.js'
import { followedFolder } from '../../config/local-server.js'
import { type Failure, suggested, usage } from '../../failures/failure.js'
import { choice, duration, type Flag, integer, toggle, type ValuesOf, withBare } from '../../flags/flags.js'
import { formats } from '../../flags/globals.js'
import type { Outcome } from '../../output/outcome.js'
import { explain } from './profile-explain.js'

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/

const pinsFlag: Flag<readonly string[]> = {
  value: 'PIN',
  summary: "Of the server's key, sha256:…; two at most",
  repeatable: true,
  read: (texts) =>
    arePins(texts)
      ? { ok: true, value: texts }
      : { ok: false, message: 'must be sha256: and 43 characters of base64url, two at most' },
}

const unsettable = [
  'base_url',
  'account',
  'output',
  'timeout',
  'retries',
  'data_dir',
  'secure.mode',
  'secure.origin',
  'secure.pins',
  'secure.latched',
] as const

const setFlags = {
  production: withBare('on', choice(['on', 'off'], 'Whether this is a production server; alone: on')),
  codes: choice(['reference', 'any'], 'How the server forms redeem codes'),
  'default-output': choice(formats, 'Format of results'),
  'default-timeout': duration('Time for a call with its retries', 1),
  'default-retries': integer('N', 'Maximum retries of a transient failure', 0, 20),
  pin: pinsFlag,
  unset: { ...choice(unsettable, `Forget this setting: ${unsettable.join(', ')}`), value: 'SETTING' },
}

/** Describes a profile, with only the prefixes of its credentials. */
function shown({ host, settings }: Context, name: string, profile: Profile, current = settings.config.current) {
  const credentials = Object.entries(profile.credentials ?? {})
  return {
    name,
    current: name === current,
    base_url: profile.base_url ?? null,
    data_dir: followedFolder(host, profile),
    account: profile.account ?? null,
    production: profile.production ?? false,
    codes: profile.codes ?? null,
    output: profile.output ?? null,
    timeout: profile.timeout ?? null,
    retries: profile.retries ?? null,
    secure: profile.secure ?? null,
    credentials: Object.fromEntries(credentials.map(([kind, it]) => [kind, redact(it.value)])),
  }
}

function find({ settings: { config } }: Context, name: string): { ok: true; profile: Profile } | Failure {
  const profile = findProfile(config, name)
  if (profile !== undefined) return { ok: true, profile }
  return profileNotFound(name, config)
}

const name = { name: 'PROFILE', summary: 'Name of the profile', ask: 'Profile' }
const optionalName = { name: 'PROFILE', summary: 'Name of the profile; the current one when absent' }

export const profiles: Group = {
  name: 'profiles',
  alias: 'profile',
  summary: 'Servers and credentials under a name',
  commands: [
    leaf({
      name: 'list',
      summary: 'List the profiles',
      examples: ['voucherctl profiles list'],
      view: {
        members: ['name', 'current', 'base_url', 'account', 'production'],
        key: 'name',
        empty: 'No profiles yet.',
      },
      run: async (context) => {
        const items = Object.entries(context.settings.config.profiles).map(([one, it]) => shown(context, one, it))
        return { ok: true, data: { items } }
      },
    }),
    leaf({
      name: 'use',
      summary: 'Make a profile the current one',
      positional: name,
      examples: ['voucherctl profiles use shop'],
      changes: true,
      view: {
        headline: (it: { name: string }) => `Profile ${it.name} is the current one.`,
        members: ['base_url', 'data_dir', 'account'],
      },
      run: async (context, { positional }) => {
        const found = find(context, positional)
        if (!found.ok) return found
        if (context.dryRun) return context.plan(`make profile ${positional} the current one`)
        const problem = await updateConfig(context.host, (it) => ({ ...it, current: positional }))
        return problem ?? { ok: true, data: shown(context, positional, found.profile, positional) }
      },
    }),
    leaf({
      name: 'show',
      summary: 'Show a profile, or where each setting comes from',
      positional: optionalName,
      flags: { explain: toggle('Show every setting with the place that it came from') },
      examples: ['voucherctl profiles show', 'voucherctl profiles show --explain'],
      run: async (context, { positional, flags }): Promise<Outcome<unknown>> => {
        if (flags.explain) {
          if (positional !== undefined)
            return usage('--explain shows what holds now; name another profile with --profile.')
          return { ok: true, data: await explain(context) }
        }
        const { profileName, profile, profileMissing, config } = context.settings
        if (positional === undefined && profileMissing) return profileNotFound(profileName.value, config)
        const found = positional === undefined ? { ok: true as const, profile } : find(context, positional)
        return found.ok ? { ok: true, data: shown(context, positional ?? profileName.value, found.profile) } : found
      },
    }),
    leaf({
      name: 'set',
      summary: 'Make a profile, or change its settings',
      notes: [
        'A production profile shows a banner, and asks before what cannot be undone.',
        'With --secure required, its calls of the interface are encrypted or not made; --origin binds the sessions, --pin names the key of the server, at most two. `voucherctl secure pin --save` pins the key that is served. `voucherctl profiles set --unset secure.mode` undoes --secure.',
        'With --codes reference, redeem codes are checked for typing errors before a call; other servers may use another format.',
      ],
      positional: optionalName,
      flags: setFlags,
      examples: [
        'voucherctl profiles set shop --base-url https://vouchers.example --production on',
        'voucherctl profiles set shop --secure required',
        'voucherctl profiles set --default-timeout 10s',
      ],
      changes: true,
      view: {
        headline: (it: { name: string }) => `Profile ${it.name} is stored.`,
        next: ({ name, secure }: ReturnType<typeof shown>) =>
          secure?.mode === 'required'
            ? `Its calls are encrypted or not made. To undo it: ${suggested`profiles set ${name} --unset secure.mode`}`
            : undefined,
      },
      run: async (context, { positional, flags }) => {
        const target = positional ?? context.settings.profileName.value
        if (!NAME.test(target))
          return usage('The name of a profile is 1 to 64 letters, digits, dots, dashes and underscores.')
        const changes = changesOf(context, flags)
        if (!changes.ok) return changes
        let profile: Profile = {}
        if (context.dryRun) return context.plan(`store profile ${target} in ${configFile(context.host)}`)
        const problem = await changeProfile(context.host, target, (before) => {
          const moved = changes.members.base_url === undefined ? before : atServer(before, changes.members.base_url)
          const all: Record<string, unknown> = { ...moved, ...changes.members }
          if (flags.codes === 'any') delete all.codes
          const secure: Record<string, unknown> = { ...before.secure, ...changes.secure }
          if (flags.unset?.startsWith('secure.')) delete secure[flags.unset.slice('secure.'.length)]
          else if (flags.unset !== undefined) delete all[flags.unset]
          if (flags.unset === 'base_url' || flags.unset === 'data_dir') delete all.store
          delete all.secure
          profile = { ...all, ...(Object.keys(secure).length === 0 ? {} : { secure }) } as Profile
          return profile
        })
        return problem ?? { ok: true, data: shown(context, target, profile) }
      },
    }),
    leaf({
      name: 'remove',
      summary: 'Remove a profile with its credentials',
      positional: name,
      examples: ['voucherctl profiles remove shop'],
      changes: true,
      view: { headline: (it: { name: string }) => `Removed profile ${it.name}.`, members: [] },
      run: async (context, { positional }) => {
        const found = find(context, positional)
        if (!found.ok) return found
        if (context.dryRun) return context.plan(`remove profile ${positional} and its credentials`)
        const refusal = await context.confirm({
          action: `Removing profile ${positional}`,
          loses: lossOf(found.profile),
        })
        if (refusal !== undefined) return refusal
        const problem = await updateConfig(
          context.host,
          ({ current, profiles: { [positional]: _removed, ...others }, ...rest }) => ({
            ...rest,
            current: current === positional ? DEFAULT_PROFILE : current,
            profiles: others,
          }),
        )
        return problem ?? { ok: true, data: { name: positional, removed: true } }
      },
    }),
  ],
}

function lossOf({ base_url: baseUrl, credentials = {} }: Profile): string {
  const settings = `Its settings${baseUrl === undefined ? '' : ` for ${baseUrl}`} ${credentials.jwt ? 'and its account JWT ' : ''}are lost.`
  return [settings, shownOnce({ credentials }) ?? []].flat().join(' ')
}

type Changes = { ok: true; members: Partial<Profile>; secure: SecureProfile }

function changesOf({ globals }: Context, flags: ValuesOf<typeof setFlags>): Changes | Failure {
  const { production, codes, 'default-timeout': timeoutMs } = flags
  const baseUrl = globals['base-url'] === undefined ? undefined : parseBaseUrl(globals['base-url'])
  const members = defined({
    base_url: baseUrl === undefined ? undefined : baseUrl.origin + baseUrl.prefix,
    production: production === undefined ? undefined : production === 'on',
    codes: codes === 'reference' ? codes : undefined,
    output: flags['default-output'],
    timeout: timeoutMs === undefined ? undefined : `${timeoutMs}ms`,
    retries: flags['default-retries'],
  })
  const secure = defined({
    mode: globals.secure,
    origin: globals.origin,
    pins: flags.pin.length === 0 ? undefined : flags.pin,
  })
  const count = Object.keys(members).length + Object.keys(secure).length
  if (count === 0 && codes === undefined && flags.unset === undefined) {
    return usage(
      'Nothing to set.',
      'Give --base-url, --production, --codes, --secure, --origin, --pin, --default-output, --default-timeout, --default-retries or --unset.',
    )
  }
  return { ok: true, members, secure }
}
