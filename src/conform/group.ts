import type { CredentialKind } from '../contract/endpoint.js'

/** What a probe may need and a run may lack: a credential, or something on the platform that the user names. */
export type Need = Exclude<CredentialKind, 'operator'> | 'template' | 'bot id' | 'chat' | 'webhook' | 'secure'

/** Chapters of the rules about a platform, in document order; each is a group of probes. */
export const groups = ['calls', 'callers', 'vouchers', 'bots', 'webhooks', 'encryption'] as const
export type Group = (typeof groups)[number]
