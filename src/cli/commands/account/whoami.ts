import type { CredentialKind } from '../../../contract/endpoint.js'
import { kindOf, redact } from '../../../contract/secrets.js'
import type { Context, ContextCallOptions } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { findCredential } from '../../config/credentials.js'
import type { Failure } from '../../failures/failure.js'
import type { Globals } from '../../flags/globals.js'
import { credentialNames, describeJwt } from '../../host/secrets.js'
import type { Plan, Result } from '../../output/outcome.js'
import { plainLine, textOf } from '../../output/text.js'

export const whoami = leaf({
  name: 'whoami',
  summary: 'Show who the credentials are, and whether the server accepts them',
  examples: ['voucherctl whoami'],
  view: {
    headline: (it: WhoamiReport) => `Profile ${it.profile}, ${it.base_url}`,
    body: (report, { zone }) =>
      report.credentials
        .map((one) =>
          plainLine(
            `${credentialNames[one.kind]}: ${one.credential}${one.account === null ? '' : `, account ${one.account}`}, ${one.accepted ? 'accepted' : `refused (${one.code})`}${one.expires_at === null ? '' : `, until ${textOf(one.expires_at, zone)}`}, from ${one.source}`,
          ),
        )
        .join('\n'),
  },
  run: async (context) => {
    const base = context.baseUrl()
    if (!base.ok) return base
    const checked: CredentialReport[] = []
    let refusal: Failure | undefined
    let planned: Plan | undefined
    for (const kind of ['jwt', 'token', 'bot', 'operator'] as const) {
      const found = await findCredential(context.host, context.globals, context.settings, kind, base.value)
      if (!found.ok) {
        if (found.code !== 'CREDENTIAL_REQUIRED') return found
        refusal ??= found
        continue
      }
      if (isOtherKind(context.globals, kind, found.value)) continue
      const result = await check(context, kind, base.value, found)
      if ('code' in result) return result
      if ('plan' in result) planned = result
      else {
        refusal = result.refusal ?? refusal
        checked.push(result.report)
      }
    }
    if (planned !== undefined) return planned
    if (refusal !== undefined && !checked.some((it) => it.accepted)) return refusal
    return {
      ok: true,
      ...(checked.some((it) => !it.accepted) ? { exit: 4 } : {}),
      data: { profile: context.settings.profileName.value, base_url: base.value, credentials: checked },
    }
  },
})

/** --token-file contains one credential, whose form shows its kind, so the other kinds are skipped. */
export const isOtherKind = (globals: Globals, kind: CredentialKind, credential: string) =>
  globals['token-file'] !== undefined && (kindOf(credential) ?? 'token') !== kind

async function check(
  context: Context,
  kind: CredentialKind,
  baseUrl: string,
  { value, source }: { readonly value: string; readonly source: string },
): Promise<{ report: CredentialReport; refusal: Failure | undefined } | Plan | Failure> {
  const result = await probe(context, kind, { baseUrl, credential: value, source })
  if ('plan' in result) return result
  if (!result.ok && result.status !== 401) return result
  const { account, expiresAt } = kind === 'jwt' ? describeJwt(value) : { account: null, expiresAt: null }
  const report: CredentialReport = {
    kind,
    credential: redact(value),
    source,
    account,
    expires_at: expiresAt,
    accepted: result.ok,
    code: result.ok ? null : result.code,
  }
  return { report, refusal: result.ok ? undefined : result }
}

interface CredentialReport {
  readonly kind: CredentialKind
  readonly credential: string
  readonly source: string
  readonly account: string | null
  readonly expires_at: string | null
  readonly accepted: boolean
  readonly code: string | null
}

interface WhoamiReport {
  readonly profile: string
  readonly base_url: string
  readonly credentials: readonly CredentialReport[]
}

type ProbeTarget = NonNullable<ContextCallOptions['target']>
type ProbeResult = Promise<Result<unknown> | Plan | Failure>

/** Failure codes that a server sends only if it accepts the credential. */
const known = ['INSUFFICIENT_SCOPE', 'APPLICATION_DISABLED', 'FEATURE_UNAVAILABLE', 'BOT_DISABLED']

/** Tests whether the server accepts a credential, with a read that needs a credential of its kind. */
export async function probe(context: Context, kind: CredentialKind, target: ProbeTarget): ProbeResult {
  const result = await read(context, kind, target)
  return !result.ok && 'code' in result && known.includes(result.code) ? { ok: true, data: null } : result
}

async function read({ call }: Context, kind: CredentialKind, target: ProbeTarget): ProbeResult {
  switch (kind) {
    case 'jwt':
      return call((await import('../../../contract/apps.js')).apps.list, { limit: 1 }, { target })
    case 'token':
      return call((await import('../../../contract/templates.js')).templates.list, { limit: 1 }, { target })
    case 'bot':
      return call((await import('../../../contract/webhook.js')).webhook.info, {}, { target })
    case 'operator':
      return call((await import('../../../contract/platform/platform.js')).platform.reviews, {}, { target })
  }
}
