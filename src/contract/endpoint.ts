import type { FailureCode } from './errors.js'
import type { ObjectSchema, Properties, Schema, Static } from './schema.js'

/** Scopes of an application token (DECISIONS.md#scopes). */
export const scopes = [
  'vouchers:read',
  'vouchers:templates:write',
  'vouchers:issue',
  'vouchers:verify',
  'vouchers:redeem',
  'vouchers:reverse',
] as const
export type Scope = (typeof scopes)[number]

/** Scopes of a bot (DECISIONS.md#bot-states). */
export const botScopes = [
  'messages:send',
  'messages:receive',
  'vouchers:read',
  'vouchers:templates:write',
  'vouchers:issue',
] as const
export type BotScope = (typeof botScopes)[number]

/** Application token (sop_), bot token (sbot_), account JWT, operator key (opk_) (DECISIONS.md#credential-kinds). */
export type CredentialKind = 'token' | 'bot' | 'jwt' | 'operator'

/** Names of the rate limits (DECISIONS.md#rate-limits). */
export type LimitName =
  | 'issue'
  | 'verify'
  | 'redeem'
  | 'reverse'
  | 'reads'
  | 'template_writes'
  | 'bot_issue'
  | 'bot_calls'
  | 'console'
  | 'secure_session'

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export const credentialTypes = ['qr_token', 'redeem_code'] as const
export type CredentialType = (typeof credentialTypes)[number]

/**
 * Condition on a member of `data` for a success: a non-empty text, a boolean, a list, a list with a redeem code or QR
 * token, one given text, or equal to the input member of that name.
 */
export type Evidence =
  | 'text'
  | 'boolean'
  | 'list'
  | 'credentials'
  | { readonly value: string }
  | { readonly input: string }

/** An endpoint as data: the server validates and serialises from it, the client is typed by it. */
export interface Endpoint {
  /** `group.name`: the key in the contract and of the handler. */
  readonly id: `${string}.${string}`
  readonly summary: string
  readonly method: Method
  /** Path with `:name` parameters. */
  readonly path: `/${string}`
  /** The credential kind that may call it. */
  readonly caller: CredentialKind
  /** Of the application token or of the bot that calls. */
  readonly scope?: Scope | BotScope
  /** Present where the calling bot acts for its linked application: that one must be active and have the feature. */
  readonly linked?: true
  readonly limit?: LimitName
  /** Present where an Idempotency-Key is honoured: required, or optional. */
  readonly idempotent?: true | 'optional'
  /** A POST that may be sent again: a repeat changes nothing that the first has not. */
  readonly repeatable?: true
  /** Path parameters; strings without a form: a malformed id is the same 404 as an unknown one. */
  readonly params?: ObjectSchema
  readonly query?: ObjectSchema
  readonly body?: Schema
  /** Present where an empty body counts as `{}`. */
  readonly bodyOptional?: true
  /** Status of a first success; a second status may be answered where `statuses` names it. */
  readonly status: 200 | 201
  readonly statuses?: readonly (200 | 201)[]
  /** `data` of the success envelope, or a stream of such objects, one JSON document a line. */
  readonly output: Schema
  /** Required members of `data`: without them a 2xx is not a success (DECISIONS.md#success). */
  readonly evidence?: Readonly<Record<string, Evidence>>
  readonly streams?: true
  /** Present where the answer holds JSON that is stored as text: handlers answer the text of `data`, which goes out as it is. */
  readonly verbatim?: true
  /** Codes of its own; those that follow from its members come from `failuresOf`. */
  readonly failures: readonly FailureCode[]
}

/** Calls of the console. */
export const byAccount = { caller: 'jwt', limit: 'console' } as const

export function endpoint<const E extends Endpoint>(definition: E): E {
  return definition
}

type ParamsOf<E> = E extends { params: infer S extends Schema } ? Static<S> : unknown
type QueryOf<E> = E extends { query: infer S extends Schema } ? Static<S> : unknown
export type BodyOf<E> = E extends { body: infer S extends Schema } ? Static<S> : unknown

/** Flat input of a call: path parameters, query members and body members by their wire names. */
export type InputOf<E extends Endpoint> = ParamsOf<E> & QueryOf<E> & BodyOf<E>

/** `data` of a success. */
export type OutputOf<E extends Endpoint> = Static<E['output']>

/** The codes that a handler of this endpoint may return. */
export type ErrorOf<E extends Endpoint> = E['failures'][number]

/** Whether a call may change something: a read, or a POST that may be sent again, does not. */
export function mutates(call: { readonly method: string; readonly repeatable?: boolean | undefined }): boolean {
  return call.method !== 'GET' && call.repeatable !== true
}

/** Runtime calls are made for an application, by its token or by a linked bot; a policy may want them encrypted. */
export function isRuntime({ caller, linked }: Pick<Endpoint, 'caller' | 'linked'>): boolean {
  return caller === 'token' || linked === true
}

/** Every code that an endpoint can answer: its own and those that follow from who calls it and what it takes. */
export function failuresOf(it: Endpoint): readonly FailureCode[] {
  const codes = new Set<FailureCode>(['TOKEN_MISSING', 'TOKEN_INVALID', 'TOKEN_TYPE_NOT_ACCEPTED', 'RATE_LIMITED'])
  if (it.caller === 'token' || it.caller === 'jwt') codes.add('TOKEN_EXPIRED')
  if (it.caller === 'token' || it.caller === 'bot') codes.add('TOKEN_REVOKED').add('INSUFFICIENT_SCOPE')
  if (it.caller === 'bot') codes.add('BOT_DISABLED')
  if (isRuntime(it)) codes.add('APPLICATION_DISABLED').add('FEATURE_UNAVAILABLE')
  if (isRuntime(it)) codes.add('SECURE_TRANSPORT_REQUIRED').add('ORIGIN_NOT_ALLOWED')
  if (it.linked) codes.add('BOT_NOT_LINKED')
  if (it.method !== 'GET') codes.add('INVALID_JSON').add('PAYLOAD_TOO_LARGE').add('UNSUPPORTED_MEDIA_TYPE')
  codes.add('VALIDATION_FAILED')
  if (it.idempotent === true) codes.add('IDEMPOTENCY_KEY_REQUIRED')
  if (it.idempotent !== undefined) {
    codes.add('IDEMPOTENCY_KEY_INVALID').add('IDEMPOTENCY_KEY_REUSED').add('IDEMPOTENCY_KEY_IN_PROGRESS')
  }
  for (const code of it.failures) codes.add(code)
  codes.add('INTERNAL_ERROR').add('SERVICE_UNAVAILABLE')
  return [...codes]
}

/** The required members of a success: those that the endpoint names, and `items` of every list. */
export function evidenceOf({
  output,
  evidence,
}: Pick<Endpoint, 'output' | 'evidence'>): NonNullable<Endpoint['evidence']> {
  return Object.hasOwn(membersOf(output), 'items') ? { items: 'list', ...evidence } : (evidence ?? {})
}

/** The names of the path parameters, in their order. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/:([A-Za-z]+)/g)].map((match) => match[1] as string)
}

/** Members of an object schema, for tools that list them. */
export function membersOf(schema: Schema | undefined): Properties {
  return schema !== undefined && 'properties' in schema ? (schema.properties as Properties) : {}
}
