import type { CredentialKind } from '../../contract/endpoint.js'
import { isLoopbackHost } from '../../values/loopback.js'
import type { Context } from '../command/context.js'
import { openInMode, openPlain } from '../command/transport.js'
import { findCredential } from '../config/credentials.js'
import { type Failure, fail } from '../failures/failure.js'

const RATE = 10
const RATE_HERE = 200
const MAX_WAIT_MS = 10_000

/** Flags of `voucherctl conform` that say how to reach the platform. */
export interface AccessFlags {
  readonly template?: string | undefined
  readonly bot?: string | undefined
  readonly chat?: string | undefined
  readonly 'max-wait'?: number | undefined
  readonly rate?: number | undefined
}

/** How a run reaches the platform: transports, credentials, resources of the user, and rate limit. */
export async function platformAccess(context: Context, baseUrl: string, flags: AccessFlags) {
  const plain = await openPlain(context, baseUrl)
  const isPlain = context.settings.secure.mode.value === 'off'
  const isHere = isLoopbackHost(new URL(baseUrl).hostname)
  return {
    plain,
    encrypted: isPlain ? undefined : await openInMode(context, baseUrl, undefined, plain),
    credentials: await credentialsFor(context, baseUrl),
    template: flags.template,
    botId: flags.bot,
    chat: flags.chat,
    maxWaitMs: flags['max-wait'] ?? MAX_WAIT_MS,
    rate: flags.rate ?? (isHere ? RATE_HERE : RATE),
    timeoutMs: context.settings.timeoutMs.value,
    signal: context.host.signal,
  }
}

/** The credentials that profile and environment hold for the platform, by kind. */
async function credentialsFor({ host, globals, settings }: Context, baseUrl: string) {
  const found: Partial<Record<CredentialKind, string>> = {}
  for (const kind of ['token', 'bot', 'jwt'] as const) {
    const credential = await findCredential(host, globals, settings, kind, baseUrl)
    if (credential.ok) found[kind] = credential.value
  }
  return found
}

export function notReachable({ host }: Context, baseUrl: string, why: string): Failure {
  if (host.signal.aborted) return fail('ABORTED', 'Interrupted before anything was tested.')
  return fail('NETWORK_ERROR', `${baseUrl} does not respond. ${why}`, 'Check the address of the platform.')
}
