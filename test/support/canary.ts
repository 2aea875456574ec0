import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Unique fake secrets by name, for which a test searches files and output. */
export type Planted = Readonly<Record<string, string>>

/** A fake secret that no other text contains by chance. */
const canary = (prefix: string, name: string) => `${prefix}CANARY${name.replaceAll(/\W/g, '')}x7Qm2Vp9Kd4Zt6`

/** Secrets that a user passes to a command; no output may contain them. */
export const handedIn = {
  'token of the environment': canary('sop_', 'environmentToken'),
  'bot token of the environment': canary('sbot_', 'environmentBot'),
  'account JWT of the environment': `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkZW1vIiwiZXhwIjoyMDAwMDAwMDAwfQ.${canary('', 'environmentJwt')}`,
  'operator key of the environment': canary('opk_', 'environmentOperator'),
  'webhook secret of the environment': canary('', 'environmentWebhook'),
  'token of the profile': canary('sop_', 'profileToken'),
  'bot token of the profile': canary('sbot_', 'profileBot'),
  'account JWT of the profile': `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkZW1vIiwiZXhwIjoyMDAwMDAwMDAwfQ.${canary('', 'profileJwt')}`,
  'operator key of the profile': canary('opk_', 'profileOperator'),
  'token of a file': canary('sop_', 'fileToken'),
  'webhook secret of a file': canary('', 'fileWebhook'),
  // Not the redeem code of the examples, because help and `commands` print that one.
  'code that is redeemed': '5CNR-YK3T-W8HQ-2MPX',
  'QR token that is redeemed': 'VQ1-PENECFSECZP11HYGCPWPQ5E6EYCNDY0YZ',
} as const

/** Environment variables with every kind of credential. */
export const environment = {
  VOUCHERCTL_TOKEN: handedIn['token of the environment'],
  VOUCHERCTL_BOT_TOKEN: handedIn['bot token of the environment'],
  VOUCHERCTL_JWT: handedIn['account JWT of the environment'],
  VOUCHERCTL_OPERATOR_KEY: handedIn['operator key of the environment'],
  VOUCHERCTL_WEBHOOK_SECRET: handedIn['webhook secret of the environment'],
}

/** One-time secrets in the responses of a fake server. */
export const handedOut = {
  'new token': canary('sop_', 'newToken'),
  'new bot token': canary('sbot_', 'newBot'),
  'new webhook secret': canary('', 'newWebhook'),
  'new JWT': `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJkZW1vIiwiZXhwIjoyMDAwMDAwMDAwfQ.${canary('', 'newJwt')}`,
  'new code': '7K2M-9QXR-4TVB-N8WD',
  'new QR token': 'VQ1-7K2M9QXR4TVBN8WD7K2M9QXR4TVBN8WDZ',
} as const

/** The spellings of a secret in all encodings that a program might use. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const inBase64 = [0, 1, 2].flatMap((before) => {
    const text = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64')
    // In base64, the first and last symbols of the secret depend on adjacent bytes.
    const inner = text.slice(before === 0 ? 0 : 4, -4)
    return [inner, inner.replaceAll('+', '-').replaceAll('/', '_')]
  })
  const plain = [secret, secret.replaceAll('-', ''), encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]
  const cases = plain.flatMap((it) => [it, it.toLowerCase(), it.toUpperCase()])
  return [...new Set([...cases, bytes.toString('hex'), bytes.toString('utf16le'), ...inBase64])]
}

const forms = new Map<string, string[]>()

/** Names of the secrets that a text or file content contains. */
export function leaksIn(content: string | Buffer, planted: Planted): string[] {
  const text = typeof content === 'string' ? content : content.toString('latin1')
  return Object.entries(planted).flatMap(([name, secret]) => {
    if (!forms.has(secret)) forms.set(secret, formsOf(secret))
    return forms.get(secret)?.some((form) => text.includes(form)) ? [name] : []
  })
}

/** `path: name` of each secret in the content or the name of a file below a folder. */
export function leaksBelow(dir: string, planted: Planted): string[] {
  return readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name)
    const content = entry.isFile() ? readFileSync(path) : ''
    return leaksIn(Buffer.concat([Buffer.from(`${path}\n`), Buffer.from(content)]), planted).map(
      (name) => `${path.slice(dir.length + 1)}: ${name}`,
    )
  })
}

/** `cmdline: name` or `environ: name` of each secret that other processes can read in /proc. Linux only. */
export function leaksInProcess(pid: number, planted: Planted): string[] {
  if (process.platform !== 'linux') return []
  return ['cmdline', 'environ'].flatMap((what) =>
    leaksIn(readFileSync(`/proc/${pid}/${what}`), planted).map((name) => `${what}: ${name}`),
  )
}
