import type { CredentialKind } from '../contract/endpoint.js'

/** What a run may have to offer: a credential, an object of the platform that the user names, or a property of it. */
export type Need = Exclude<CredentialKind, 'operator'> | 'template' | 'bot id' | 'chat' | 'webhook' | 'secure'

/** Chapters of RULES.md that describe a platform, in its order; each is a group of probes. */
export const groups = ['calls', 'callers', 'vouchers', 'bots', 'webhooks', 'encryption'] as const
export type Group = (typeof groups)[number]
