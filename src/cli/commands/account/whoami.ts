import type { CredentialKind } from '../../../contract/endpoint.js'
import { kindOf, redact } from '../../../contract/values/secrets.js'
import { leaf } from '../../command/leaf.js'
import { findCredential } from '../../config/credentials.js'
import type { Failure } from '../../failure.js'
import { credentialNames, describeJwt } from '../../host/secrets.js'
import type { Plan } from '../../output/outcome.js'
import { plainLine } from '../../output/plain.js'
import { textOf } from '../../output/value-text.js'
import { probe } from './probe.js'

export const whoami = leaf({
  name: 'whoami',
  summary: 'Show who the credentials are, and whether the server accepts them',
  examples: [{ command: 'voucherctl whoami' }],
  view: {
    headline: (it: WhoamiReport) => `Profile ${it.profile}, ${it.base_url}`,
    body: (it) =>
      it.credentials
        .map((one) =>
          plainLine(
            `${credentialNames[one.kind]}: ${one.credential}${one.account === null ? '' : `, account ${one.account}`}, ${one.accepted ? 'accepted' : `refused (${one.code})`}${one.expires_at === null ? '' : `, until ${textOf(one.expires_at)}`}, from ${one.source}`,
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
      // --token-file contains one credential, whose form shows its kind: skip the other kinds.
      if (context.globals['token-file'] !== undefined && (kindOf(found.value) ?? 'token') !== kind) continue
      const result = await probe(context, kind, {
        baseUrl: base.value,
        credential: found.value,
        source: found.source,
      })
      if ('plan' in result) {
        planned = result
        continue
      }
      if (!result.ok && result.status !== 401) return result
      if (!result.ok) refusal = result
      const { account, expiresAt } = kind === 'jwt' ? describeJwt(found.value) : { account: null, expiresAt: null }
      const { source } = found
      checked.push({
        kind,
        credential: redact(found.value),
        source,
        account,
        expires_at: expiresAt,
        accepted: result.ok,
        code: result.ok ? null : result.code,
      })
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
