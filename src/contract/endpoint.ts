import type { FailureCode } from './errors.js'
import { ids } from './fields.js'
import { type ObjectSchema, type Properties, type Schema, type Static, Type } from './schema.js'

/** Scopes of an application token (rules/callers.md#scopes). */
export const scopes = [
  'vouchers:read',
  'vouchers:templates:write',
  'vouchers:issue',
  'vouchers:verify',
  'vouchers:redeem',
  'vouchers:reverse',
] as const
export type Scope = (typeof scopes)[number]

/** Scopes of a bot (rules/bots.md#bot-states). */
export const botScopes = [
  'messages:send',
  'messages:receive',
  'vouchers:read',
  'vouchers:templates:write',
  'vouchers:issue',
] as const
export type BotScope = (typeof botScopes)[number]

/** Application token, bot token, account JWT or operator key (rules/callers.md#credential-kinds). */
export type CredentialKind = 'token' | 'bot' | 'jwt' | 'operator'

/** Names of the rate limits (rules/calls.md#rate-limits). */
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

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export const credentialTypes = ['qr_token', 'redeem_code'] as const
export type CredentialType = (typeof credentialTypes)[number]

/**
 * Requirement for a member of `data` in a success: a non-empty string, a boolean, a list, a list with a redeem code or
 * QR token, a fixed string, or the value of an input member.
 */
export type Evidence =
  | 'text'
  | 'boolean'
  | 'list'
  | 'credentials'
  | { readonly value: string }
  | { readonly input: string }

/** Definition of an endpoint. The server validates and serialises with it; the client derives its types from it. */
export interface Endpoint {
  /** Group and name of the endpoint in `contract`, such as `vouchers.redeem`; its handler has the same names. */
  readonly id: `${string}.${string}`
  readonly summary: string
  /** Command that the page copies for its calls: `:name` is a member of the input, and `-` a credential from stdin. */
  readonly command?: string
  readonly method: Method
  /** Path with `:name` parameters. */
  readonly path: `/${string}`
  /** The kind of credential that may call the endpoint. */
  readonly caller: CredentialKind
  /** Scope that the application token or the calling bot needs. */
  readonly scope?: Scope | BotScope
  /** Set if a bot calls for its linked application, which must then be active and have the feature `vouchers`. */
  readonly linked?: true
  readonly limit?: LimitName
  /** Set if the endpoint accepts the header Idempotency-Key; `true` requires the header. */
  readonly idempotent?: true | 'optional'
  /** True for an idempotent POST, which clients may retry without an idempotency key. */
  readonly repeatable?: true
  /** Path parameters; by default strings without a pattern, so that a malformed id gives the same 404 as an unknown id. */
  readonly params?: ObjectSchema
  readonly query?: ObjectSchema
  readonly body?: Schema
  /** Set if an empty body counts as `{}`. */
  readonly bodyOptional?: true
  /** Maximum length of the body, unless it is 64 KiB (rules/calls.md#bodies). */
  readonly bodyBytesMax?: number
  /** Status of a success; `statuses` lists further statuses of successes. */
  readonly status: 200 | 201
  readonly statuses?: readonly (200 | 201)[]
  /** `data` of the success envelope, or with `streams` one object per line (NDJSON). */
  readonly output: Schema
  /** Required members of `data`: clients treat a 2xx that lacks one as a failure (rules/calls.md#success). */
  readonly evidence?: Readonly<Record<string, Evidence>>
  readonly streams?: true
  /** Set if handlers return `data` as JSON text, whole or in pieces, which the server sends unchanged. */
  readonly verbatim?: true
  /** Failure codes specific to the endpoint; `failuresOf` adds the codes that follow from the other members. */
  readonly failures: readonly FailureCode[]
  /** Statuses of the named record in which the call is not refused; default: any. */
  readonly accepts?: readonly string[]
  /** Set if no other call can undo the effect: commands ask before it (rules/cli.md#confirmations). */
  readonly irreversible?: Irreversible
  /** Codes with which the platform refuses later calls because of a success of this one. */
  readonly leadsTo?: readonly FailureCode[]
  /** Set if a success submits a template or bot for review, or decides on one. */
  readonly review?: 'submits' | 'decides'
  /** Set if the activity leaves the call out: it only watches the server, or its effect has its own line. */
  readonly unlisted?: true
  /** Set if a scenario of recorded calls leaves the call out: it only reads for the operator, or its effect is recorded. */
  readonly unrecorded?: true
}

/** Words of the question before a call that cannot be undone. */
export interface Irreversible {
  /** What the call does; the name of the affected record follows. */
  readonly action: string
  /** Sentence that says what is lost. */
  readonly loses: string
}

/** Members that all console endpoints have in common. */
export const byAccount = { caller: 'jwt', limit: 'console' } as const

/** Members with a default; a group defines an endpoint without them. */
export interface Defaults {
  readonly caller: 'operator'
  readonly status: 200
  readonly failures: readonly []
}

/** An endpoint as a group defines it: without id, and without members that have their default. */
type Definition = Omit<Endpoint, 'id' | keyof Defaults> & Partial<Pick<Endpoint, keyof Defaults>>

/** Names of the parameters in a path: `appId` and `botId` for `/applications/:appId/bots/:botId`. */
type ParameterOf<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | ParameterOf<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** Default of `params`: one text per path parameter; absent for a path without parameters. */
type PathParameters<Path> = [ParameterOf<Path>] extends [never]
  ? unknown
  : { readonly params: ObjectSchema<{ readonly [Name in ParameterOf<Path>]: Schema<string> }> }

const idOf = (name: string): Schema<string> => (ids as Readonly<Record<string, Schema<string>>>)[name] ?? Type.String()

/** Adds method, path and the default of `params` to an endpoint. */
const withMethod =
  <M extends Method>(method: M) =>
  <const P extends Endpoint['path'], const D extends Omit<Definition, 'method' | 'path'>>(path: P, definition: D) => {
    const names = pathParameters(path)
    const params = Type.Object(Object.fromEntries(names.map((name) => [name, idOf(name)])))
    const endpoint = { method, path, ...(names.length === 0 ? {} : { params }), ...definition }
    return endpoint as Pick<typeof endpoint, 'method' | 'path'> & PathParameters<P> & D
  }
export const get = withMethod('GET')
export const post = withMethod('POST')
export const put = withMethod('PUT')
export const patch = withMethod('PATCH')
export const del = withMethod('DELETE')

type Complete<D, Id extends string> = D &
  Omit<
    Defaults & (D extends { method: 'GET' } ? typeof noQuery : D extends { body: unknown } ? unknown : typeof noBody),
    keyof D
  > & {
    readonly id: Id
  }

type Group<Name extends string, D> = { readonly [K in keyof D & string]: Complete<D[K], `${Name}.${K}`> }

const noMembers = Type.Object({}, { additionalProperties: false })
/** Default of a GET, which refuses all query members. */
const noQuery = { query: noMembers } as const
/** Default of other methods: no body, or a body without members. */
const noBody = { body: noMembers, bodyOptional: true } as const

/** Completes the endpoints of a group, or of part of a group, with ids and defaults. */
export function group<const Name extends string, const D extends Readonly<Record<string, Definition>>>(
  name: Name,
  definitions: D,
): Group<Name, D> {
  const complete = ([key, definition]: [string, Definition]) => [
    key,
    {
      id: `${name}.${key}`,
      caller: 'operator',
      status: 200,
      failures: [],
      ...(definition.method === 'GET' ? noQuery : definition.body === undefined ? noBody : {}),
      ...definition,
    },
  ]
  return Object.fromEntries(Object.entries(definitions).map(complete)) as Group<Name, D>
}

type ParamsOf<E> = E extends { params: infer S extends Schema } ? Static<S> : unknown
type QueryOf<E> = E extends { query: infer S extends Schema } ? Static<S> : unknown
export type BodyOf<E> = E extends { body: infer S extends Schema } ? Static<S> : unknown

/** Flat input of a call: path parameters, query members and body members under their wire names. */
export type InputOf<E extends Endpoint> = ParamsOf<E> & QueryOf<E> & BodyOf<E>

/** Type of `data` in a success of the endpoint. */
export type OutputOf<E extends Endpoint> = Static<E['output']>

/** Failure codes that a handler of the endpoint may return. */
export type ErrorOf<E extends Endpoint> = E['failures'][number]

/** Codes that follow from one member of an endpoint. */
const codesOf = {
  all: ['TOKEN_MISSING', 'TOKEN_INVALID', 'TOKEN_TYPE_NOT_ACCEPTED', 'RATE_LIMITED'],
  token: ['TOKEN_EXPIRED', 'TOKEN_REVOKED', 'INSUFFICIENT_SCOPE'],
  jwt: ['TOKEN_EXPIRED'],
  bot: ['TOKEN_REVOKED', 'INSUFFICIENT_SCOPE', 'BOT_DISABLED'],
  operator: ['PAGE_SESSION_REQUIRED', 'HOST_NOT_ALLOWED', 'CROSS_SITE_REQUEST'],
  runtime: ['APPLICATION_DISABLED', 'FEATURE_UNAVAILABLE', 'SECURE_TRANSPORT_REQUIRED', 'ORIGIN_NOT_ALLOWED'],
  linked: ['BOT_NOT_LINKED'],
  body: ['INVALID_JSON', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'],
  input: ['VALIDATION_FAILED'],
  keyRequired: ['IDEMPOTENCY_KEY_REQUIRED'],
  key: ['IDEMPOTENCY_KEY_INVALID', 'IDEMPOTENCY_KEY_REUSED', 'IDEMPOTENCY_KEY_IN_PROGRESS'],
  server: ['INTERNAL_ERROR', 'SERVICE_UNAVAILABLE'],
} as const satisfies Record<string, readonly FailureCode[]>

type CodesOf<Member extends keyof typeof codesOf> = (typeof codesOf)[Member][number]

/** Union of the codes that `failuresOf` returns for an endpoint. */
export type FailureCodeOf<E extends Endpoint> =
  | ErrorOf<E>
  | CodesOf<'all' | 'input' | 'server' | E['caller']>
  | (E extends { caller: 'token' } | { linked: true } ? CodesOf<'runtime'> : never)
  | (E extends { linked: true } ? CodesOf<'linked'> : never)
  | (E extends { method: 'GET' } ? never : CodesOf<'body'>)
  | (E extends { idempotent: true } ? CodesOf<'keyRequired'> : never)
  | (E extends { idempotent: true | 'optional' } ? CodesOf<'key'> : never)

/** True for a call that changes something and must not be repeated without an idempotency key. */
export function mutates(call: { readonly method: string; readonly repeatable?: boolean | undefined }): boolean {
  return call.method !== 'GET' && call.repeatable !== true
}

/** True for runtime calls, made with an application token or by a linked bot. A policy may require their encryption. */
export function isRuntime({ caller, linked }: Pick<Endpoint, 'caller' | 'linked'>): boolean {
  return caller === 'token' || linked === true
}

/** Every failure code of an endpoint: its `failures`, and the codes that follow from its credential and input. */
export function failuresOf<E extends Endpoint>(endpoint: E): readonly FailureCodeOf<E>[] {
  const { caller, linked, method, idempotent, failures } = endpoint
  const members = [
    codesOf.all,
    codesOf[caller],
    isRuntime(endpoint) ? codesOf.runtime : [],
    linked ? codesOf.linked : [],
    method === 'GET' ? [] : codesOf.body,
    codesOf.input,
    idempotent === true ? codesOf.keyRequired : [],
    idempotent === undefined ? [] : codesOf.key,
    failures,
    codesOf.server,
  ]
  return [...new Set(members.flat())] as FailureCodeOf<E>[]
}

/** Required members of a success: the `evidence` of the endpoint, and `items` for a list. */
export function evidenceOf({
  output,
  evidence,
}: Pick<Endpoint, 'output' | 'evidence'>): NonNullable<Endpoint['evidence']> {
  return Object.hasOwn(membersOf(output), 'items') ? { items: 'list', ...evidence } : (evidence ?? {})
}

/** Names of path parameters, in path order. */
export function pathParameters(path: string): string[] {
  return [...path.matchAll(/:([A-Za-z]+)/g)].map((match) => match[1] as string)
}

/** Returns the members of an object schema; an empty object for other schemas. */
export function membersOf(schema: Schema | undefined): Properties {
  return schema !== undefined && 'properties' in schema ? (schema.properties as Properties) : {}
}
