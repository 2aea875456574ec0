import type { CredentialKind } from '../../../contract/endpoint.js'
import { encodeInnerRequest } from '../../../secure/client/inner-request.js'
import type { Context } from '../../command/context.js'
import { findCredential } from '../../config/credentials.js'
import type { Failure } from '../../failure.js'
import { credentialNames, kindOf } from '../../host/secrets.js'

/** A call that changes nothing, ready to be sealed. */
export interface InnerCall {
  readonly plaintext: Uint8Array
  readonly words: string
}

/** Reads one item with the first credential that is there. */
export async function chooseCall(
  { host, globals, settings }: Context,
  baseUrl: string,
  as: CredentialKind | undefined,
): Promise<InnerCall | Failure> {
  const reads = {
    token: (await import('../../../contract/templates.js')).list,
    jwt: (await import('../../../contract/apps.js')).list,
    bot: (await import('../../../contract/webhook.js')).info,
  }
  const kinds = as === undefined ? (['token', 'jwt', 'bot'] as const) : ([as] as readonly (keyof typeof reads)[])
  for (const kind of kinds) {
    const found = await findCredential(host, globals, settings, kind, baseUrl)
    if (!found.ok && (found.code !== 'CREDENTIAL_REQUIRED' || as !== undefined)) return found
    if (!found.ok) continue
    // A file holds one credential, whose form tells its kind.
    const told = globals['token-file'] === undefined || as !== undefined ? kind : (kindOf(found.value) ?? kind)
    const { path } = reads[told === 'operator' ? kind : told]
    return innerCall(path, `GET ${path} with the ${credentialNames[kind]}`, { authorization: `Bearer ${found.value}` })
  }
  const { path } = reads.token
  return innerCall(path, `GET ${path}; no credential is there, so that it is refused inside`, {})
}

function innerCall(path: string, words: string, headers: Readonly<Record<string, string>>): InnerCall {
  const encoded = encodeInnerRequest({ method: 'GET', path, headers: { accept: 'application/json', ...headers } })
  if (!encoded.ok) throw new Error('The path of an endpoint is a logical path')
  return { plaintext: encoded.plaintext, words }
}
