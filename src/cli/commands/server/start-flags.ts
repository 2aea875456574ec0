import { isIP } from 'node:net'
import { resolve } from 'node:path'
import { parseRateLimit, type RateLimit, type RateLimitName, rateLimitNames } from '../../../contract/rate-limits.js'
import { isCanonicalOrigin } from '../../../secure/origin.js'
import type { ServerOptions } from '../../../server/options.js'
import { defined } from '../../../values/json.js'
import { shellWord } from '../../../values/shell-word.js'
import {
  choice,
  excluding,
  type Flag,
  integer,
  listOf,
  matching,
  type ParseResult,
  path,
  text,
  toArguments,
  toggle,
  type ValuesOf,
} from '../../flags/flags.js'
import type { Host } from '../../host/host.js'
import { seedFlag } from '../../server/seed-file.js'
import { databaseUrlFlag } from './database-url.js'

type RateLimits = NonNullable<ServerOptions['rateLimits']>

/** Parses the values of the rate limit flag: `off`, or one or more `NAME=CALLS/SECONDS`. */
function readLimits(texts: readonly string[]): ParseResult<RateLimits | undefined> {
  if (texts.length === 0) return { ok: true, value: undefined }
  if (texts.includes('off')) {
    return texts.length === 1 ? { ok: true, value: 'off' } : { ok: false, message: 'is either off or a list of limits' }
  }
  const limits: Partial<Record<RateLimitName, RateLimit>> = {}
  for (const it of texts) {
    const [first = '', ...rest] = it.split('=')
    const name = rateLimitNames.find((one) => one === first)
    const limit = parseRateLimit(rest.join('='))
    if (name === undefined || limit === undefined) {
      const message = `must be off or NAME=CALLS/SECONDS with NAME one of ${rateLimitNames.join(', ')}`
      return { ok: false, message }
    }
    limits[name] = limit
  }
  return { ok: true, value: limits }
}

const rateLimit: Flag<RateLimits | undefined> = {
  value: 'off|NAME=N/SECONDS',
  summary: 'Rate limit such as issue=5/60',
  repeatable: true,
  read: readLimits,
}

/** Flag for loopback ports; a value may name several ports, separated by commas. */
const loopbackPorts: Flag<readonly number[]> = {
  value: 'PORT,...',
  summary: 'Local ports for webhooks',
  repeatable: true,
  read: (texts) => {
    const ports = texts.flatMap((it) => it.split(','))
    const valid = ports.every((it) => /^[1-9]\d{0,4}$/.test(it) && Number(it) <= 65_535)
    return valid ? { ok: true, value: ports.map(Number) } : { ok: false, message: 'must be ports from 1 to 65535' }
  },
}

function isAddressOrCidr(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  // Refuse an address with an IPv6 zone, because BlockList ignores the zone.
  const family = address.includes('%') ? 0 : isIP(address)
  if (family === 0 || rest.length > 0) return false
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128))
}

export const startFlags = {
  port: integer('N', 'Default 8420 or the next free one; 0: any', 0, 65_535),
  host: text('HOST', 'Address to listen on, default 127.0.0.1'),
  memory: excluding(toggle('Keep data in memory only'), 'data', 'database-url'),
  data: text('DIR', 'Data folder, default that of --profile'),
  ...databaseUrlFlag,
  'new-store': toggle('Leave the store of the data folder for another'),
  ...seedFlag,
  watch: toggle('Plant --seed again when its file changes'),
  detach: toggle('In the background, with its log in server.log'),
  'allow-reset': toggle('Let operators reset it through --host'),
  'auto-approve': toggle('Approve what is submitted immediately'),
  inspect: toggle('Keep headers and bodies of calls, in memory'),
  'test-clock': toggle('Run on a clock that `platform clock` moves'),
  'rate-limit': rateLimit,
  'trusted-proxy': listOf(
    'ADDRESS|CIDR',
    'Trust its X-Forwarded-For',
    isAddressOrCidr,
    'must be an IPv4 or IPv6 address, or a network such as 10.0.0.0/8',
  ),
  'jwks-url': matching(
    'URL',
    'Key set that verifies account JWTs',
    (it) => /^https?:/i.test(it) && URL.canParse(it),
    'must be an http(s) URL',
  ),
  'key-file': path('FILE', 'Credential keys, default in the data folder'),
  'no-secure': excluding(toggle('Switch encryption off'), 'require-secure'),
  'require-secure': toggle('Refuse voucher calls in plain text'),
  'allowed-origin': listOf(
    'ORIGIN',
    'Of encrypted sessions; default any',
    (it) => it === '*' || isCanonicalOrigin(it),
    'must be * or a full origin such as https://shop.example',
  ),
  brand: matching(
    'NAME',
    'Name in the session keys, default platform',
    (it) => /^[a-z0-9._-]{1,64}$/i.test(it),
    'must be 1 to 64 letters, digits, dots, _ and -',
  ),
  'dev-webhook-loopback': loopbackPorts,
  'egress-ip': listOf(
    'IP',
    'What getWebhookInfo says as sender',
    (it) => isIP(it) !== 0,
    'must be an IPv4 or IPv6 address',
  ),
  operator: choice(['on', 'off'], 'Platform commands; default on at loopback'),
  'log-level': choice(['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'Default info'),
}

export type StartFlags = ValuesOf<typeof startFlags>

export function optionsOf(flags: StartFlags): ServerOptions {
  return {
    ...defined({
      port: flags.port,
      host: flags.host,
      keyFile: flags['key-file'],
      rateLimits: flags['rate-limit'],
      jwksUrl: flags['jwks-url'],
      logLevel: flags['log-level'],
      brand: flags.brand,
      allowedOrigins: flags['allowed-origin'].length === 0 ? undefined : flags['allowed-origin'],
      operator: flags.operator === undefined ? undefined : flags.operator === 'on',
    }),
    ...(flags['allow-reset'] ? { allowReset: true } : {}),
    autoApprove: flags['auto-approve'],
    inspect: flags.inspect,
    secure: !flags['no-secure'],
    requireSecure: flags['require-secure'],
    testClock: flags['test-clock'],
    newStore: flags['new-store'],
    webhookLoopbackPorts: flags['dev-webhook-loopback'],
    egressIps: flags['egress-ip'],
    trustedProxies: flags['trusted-proxy'],
  }
}

/**
 * Makes the command that starts the same server in the background again, on a given port. A seed from stdin is left out:
 * the store has it. So is a password, because the command is shown.
 */
export function startCommandOf(flags: StartFlags, dir: string, { cwd }: Pick<Host, 'cwd'>): (port: string) => string {
  const { memory, seed, watch, 'jwks-url': jwks, 'key-file': keys } = flags
  const place = (path: string | undefined) => (path === undefined ? undefined : resolve(cwd, path))
  return (port) => {
    const args = argumentsOf({
      ...flags,
      port: Number(port),
      detach: !watch,
      data: memory ? undefined : dir,
      'new-store': false,
      seed: seed === '-' ? undefined : place(seed),
      'key-file': place(keys),
      'jwks-url': jwks && withoutPassword(jwks),
    })
    return ['voucherctl', 'server', 'start', ...args].map(shellWord).join(' ')
  }
}

/** Not with a pattern: `https:user:pass@host` is a URL, too. */
function withoutPassword(url: string): string {
  const { href } = Object.assign(new URL(url), { username: '', password: '' })
  return href
}

/** Converts parsed flags back to arguments. Rate limits are the only values that are neither text nor number. */
export function argumentsOf(flags: StartFlags): string[] {
  const { 'rate-limit': limits, ...rest } = flags
  const named = typeof limits === 'object' ? Object.entries(limits) : []
  const texts = limits === 'off' ? ['off'] : named.map(([name, it]) => `${name}=${it.calls}/${it.seconds}`)
  return [...toArguments(rest), ...texts.map((it) => `--rate-limit=${it}`)]
}
