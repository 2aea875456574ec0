import type { CredentialKind } from '../../../contract/endpoint.js'
import { leaf } from '../../command/leaf.js'
import { findCredential } from '../../config/credentials.js'
import type { Failure } from '../../failure.js'
import { credentialNames, describeJwt, kindOf, redact } from '../../host/secrets.js'
import type { Plan } from '../../output/outcome.js'
import { plainLine } from '../../output/plain.js'
import { textOf } from '../../output/show.js'
import { probe } from './probe.js'

export const whoami = leaf({
  name: 'whoami',
  summary: 'Show who the credentials are, and whether the server accepts them',
  examples: [{ command: 'voucherctl whoami' }],
  view: {
    headline: (it: Found) => `Profile ${it.profile}, ${it.base_url}`,
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
    const checked: Checked[] = []
    let refusal: Failure | undefined
    let planned: Plan | undefined
    for (const kind of ['jwt', 'token', 'bot', 'operator'] as const) {
      const found = await findCredential(context.host, context.globals, context.settings, kind, base.value)
      if (!found.ok) {
        if (found.code !== 'CREDENTIAL_REQUIRED') return found
        refusal ??= found
        continue
      }
      // A file holds one credential, whose form tells its kind.
      if (context.globals['token-file'] !== undefined && (kindOf(found.value) ?? 'token') !== kind) continue
      const answer = await probe(context, kind, { baseUrl: base.value, credential: found.value })
      if ('plan' in answer) {
        planned = answer
        continue
      }
      if (!answer.ok && answer.status !== 401) return answer
      if (!answer.ok) refusal = answer
      const { account, expiresAt } = kind === 'jwt' ? describeJwt(found.value) : { account: null, expiresAt: null }
      const { source } = found
      checked.push({
        kind,
        credential: redact(found.value),
        source,
        account,
        expires_at: expiresAt,
        accepted: answer.ok,
        code: answer.ok ? null : answer.code,
      })
    }
    if (planned !== undefined) return planned
    if (refusal !== undefined && !checked.some((it) => it.accepted)) return refusal
    return {
      ok: true,
      data: { profile: context.settings.profileName.value, base_url: base.value, credentials: checked },
    }
  },
})

interface Checked {
  readonly kind: CredentialKind
  readonly credential: string
  readonly source: string
  readonly account: string | null
  readonly expires_at: string | null
  readonly accepted: boolean
  readonly code: string | null
}

interface Found {
  readonly profile: string
  readonly base_url: string
  readonly credentials: readonly Checked[]
}
