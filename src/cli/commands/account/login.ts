import { resolve } from 'node:path'
import { parseBaseUrl } from '../../../client/base-url.js'
import type { CredentialKind } from '../../../contract/endpoint.js'
import { kindOf, redact } from '../../../contract/secrets.js'
import { defaultDataDir } from '../../../files/data-dir.js'
import { defined } from '../../../values/json.js'
import { isLoopbackHost } from '../../../values/loopback.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { confirmReplacing, storeCredential } from '../../command/store-credential.js'
import type { Profile } from '../../config/config.js'
import {
  dataDirOf,
  findLocalServer,
  findRunningServers,
  followedFolder,
  isAddressOf,
  type LocalServer,
  localLogin,
  namesOf,
  originOf,
} from '../../config/local-server.js'
import { isGivenForCall } from '../../config/settings.js'
import { type Failure, fail } from '../../failures/failure.js'
import { at, excluding, needing, text, toggle } from '../../flags/flags.js'
import { readSecret } from '../../host/files.js'
import { credentialNames, describeJwt } from '../../host/secrets.js'
import type { Outcome } from '../../output/outcome.js'
import { askFor } from '../../prompts/prompts.js'
import { required } from '../../prompts/required.js'
import { notRunning, operatorOf } from '../server/folder.js'
import { probe } from './whoami.js'

interface LoginReport {
  readonly profile: string
  readonly base_url: string
  readonly kind: CredentialKind
  readonly credential: string
  readonly account: string | null
  readonly expires_at: string | null
  /** Data folder of the local server to which the user logs in; null for a remote server. */
  readonly data_dir: string | null
  /** With --local, the data folder that the profile followed before; null if it followed none or the same one. */
  readonly previous_data_dir: string | null
}

export const login = leaf({
  name: 'login',
  summary: 'Store a credential in a profile',
  alsoCalls: { 'platform.issueAccountToken': '--local' },
  notes: [
    'An account JWT manages applications and tokens, an application token (sop_…) works with vouchers, a bot token (sbot_…) in chats, an operator key (opk_…) with platform commands. Its form tells which one it is.',
    'The credential is checked with the server before it is stored, and is sent to no other server afterwards.',
    'With --local and a base URL, the command uses the local server there: one of `voucherctl server list`, or the server of --data, which wins over VOUCHERCTL_BASE_URL.',
  ],
  flags: {
    'with-token': excluding(text('PATH|-', 'Read the credential from a file, or - for stdin'), 'token-file'),
    local: excluding(toggle('Get an account JWT from the local server'), 'with-token', 'token-file'),
    account: at('accountId', needing(text('NAME', 'The account; its first use creates it'), 'local')),
    data: needing(text('DIR', 'Data folder of the server, default from the profile'), 'local'),
  },
  examples: [
    'voucherctl login --local --account demo',
    'voucherctl login --with-token - --base-url https://vouchers.example < token.txt',
    { command: 'voucherctl login --base-url https://vouchers.example', comment: 'Asks for the credential' },
  ],
  changes: true,
  view: {
    headline: (report: LoginReport) =>
      `Profile ${report.profile} has the ${credentialNames[report.kind]} for ${report.base_url}${report.data_dir === null ? '' : `, the local server of ${report.data_dir}, which it follows now`}.${report.previous_data_dir === null ? '' : ` Before, it followed ${report.previous_data_dir}.`}`,
    members: ['account', 'credential', 'expires_at'],
    next: (it) => (it.kind === 'jwt' ? 'Next: `voucherctl apps create --name "My shop"`' : undefined),
  },
  run: async (context, { flags }) => {
    const { local, account, data } = flags
    const { 'token-file': tokenFile } = context.globals
    return local ? loginLocal(context, account, data) : loginWith(context, flags['with-token'] ?? tokenFile)
  },
})

async function loginLocal(
  context: Context,
  named: string | undefined,
  data: string | undefined,
): Promise<Outcome<LoginReport>> {
  const { host, settings } = context
  const found = findLogin(context, data)
  if (!found.ok) return found
  const { server, dir } = found
  const [other] = findRunningServers(host, settings.config)
  const hint = other && `Log in to ${namesOf([other])}: ${localLogin(context, other)}.`
  if (server === undefined) return { ...notRunning(context, dir), ...defined({ hint }) }
  const operator = await operatorOf(context, dir, server)
  if (!operator.ok) return operator
  if (host.stderr.isTTY === true) context.output.notice(`The local server of ${dir} runs on ${server.base_url}.`)
  const account =
    named === undefined
      ? await askFor(context, { message: 'Account', slot: 'account', kind: 'free' }, () => required(['--account']))
      : { ok: true as const, value: [named] }
  if (!account.ok) return account
  const [name = ''] = account.value
  const { platform } = await import('../../../contract/platform/platform.js')
  const issued = await context.call(platform.issueAccountToken, { accountId: name }, operator)
  if (!issued.ok) return issued
  const isDefault = dir === defaultDataDir(host) && settings.profile.data_dir === undefined
  const folder = isDefault ? {} : { data_dir: dir }
  return keep(context, 'jwt', issued.data.jwt, { base_url: server.base_url, account: name, ...folder }, dir)
}

type LocalServerResult = { readonly ok: true; readonly server: LocalServer | undefined; readonly dir: string } | Failure

/** Finds the server for the login: at the base URL of the line, which must be that of --data, else in the folder. */
function findLogin({ host, settings, globals }: Context, data: string | undefined): LocalServerResult {
  const dir = resolve(host.cwd, data ?? dataDirOf(host, settings.profile))
  const { value: baseUrl, source } = settings.baseUrl
  // --data wins over the environment, but a flag that names another server contradicts it.
  const isGiven = data === undefined ? isGivenForCall(settings.baseUrl) : globals['base-url'] !== undefined
  if (baseUrl === undefined || !isGiven) return { ok: true, server: findLocalServer(dir), dir }
  const servers = data === undefined ? findRunningServers(host, settings.config) : [findLocalServer(dir) ?? []].flat()
  const server = servers.find((it) => isAddressOf(it, baseUrl))
  if (server !== undefined) return { ok: true, server, dir: server.data_dir }
  return fail(
    'LOCAL_SERVER_NOT_RUNNING',
    `${baseUrl}, from ${source}, is not a local server with a known data folder.`,
    'Leave the base URL out, or log in with --with-token. `voucherctl server list` shows the local servers that run.',
  )
}

const WAYS =
  'Name a file with --with-token PATH, or - for stdin; --local --account NAME gets an account JWT from a local server.'

async function loginWith(context: Context, path: string | undefined): Promise<Outcome<LoginReport>> {
  const base = context.baseUrl(true)
  if (!base.ok) return base
  const secret =
    path === undefined
      ? await context.ask(
          () => ({ ...required(['--with-token']), hint: WAYS }),
          (questions) => questions.secret(`Credential for ${parseBaseUrl(base.value).origin} (hidden)`),
        )
      : await readSecret(context.host, path)
  if (!secret.ok) return secret
  const value = 'text' in secret ? secret.text : secret.value.trim()
  const kind = kindOf(value)
  if (kind === undefined) {
    return fail(
      'INVALID_INPUT',
      'This does not look like a credential.',
      'It is an account JWT, or begins with sop_, sbot_ or opk_.',
    )
  }
  const accepted = await probe(context, kind, { baseUrl: base.value, credential: value })
  if (!accepted.ok) return accepted
  return keep(context, kind, value, {
    base_url: base.value,
    ...defined({ account: describeJwt(value).account ?? undefined }),
  })
}

async function keep(
  context: Context,
  kind: CredentialKind,
  value: string,
  also: Partial<Profile> & { base_url: string },
  dir: string | null = null,
): Promise<Outcome<LoginReport>> {
  const { settings, host, output } = context
  const followed = followedFolder(host, settings.profile)
  const refusal = (await confirmMove(context, also.base_url)) ?? (await confirmReplacing(context, kind, value))
  if (refusal !== undefined) return refusal
  const problem = await storeCredential(context, kind, value, also)
  if (problem !== undefined) return problem
  if (isGivenForCall(settings.baseUrl) && originOf(settings.baseUrl.value) !== originOf(also.base_url))
    output.notice('note: VOUCHERCTL_BASE_URL is set and wins over the profile: unset it')
  const { account, expiresAt } = kind === 'jwt' ? describeJwt(value) : { account: null, expiresAt: null }
  const profile = settings.profileName.value
  return {
    ok: true,
    data: {
      profile,
      base_url: also.base_url,
      kind,
      credential: redact(value),
      account,
      expires_at: expiresAt,
      data_dir: dir,
      previous_data_dir: dir === null || followed === dir ? null : followed,
    },
  }
}

/** Asks before a profile of a remote server gets this base URL, because later commands would go to another server. */
async function confirmMove({ confirm, settings }: Context, baseUrl: string): Promise<Failure | undefined> {
  const { profile, profileName } = settings
  const before = originOf(profile.base_url)
  if (before === undefined || before === originOf(baseUrl) || isLoopbackHost(parseBaseUrl(before).hostname))
    return undefined
  return confirm({
    action: `Moving profile ${profileName.value} to ${baseUrl}`,
    loses: `Profile ${profileName.value} is for ${before} now. To keep it, log in to another profile with -p NAME.`,
  })
}
