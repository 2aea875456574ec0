import type { Endpoint, ErrorOf, InputOf, OutputOf } from '../contract/endpoint.js'
import type { ValidationIssue } from '../contract/envelope.js'
import { type Refusal, refuse } from '../contract/errors.js'
import type { Contract } from '../contract/index.js'
import type { refuseBotCall } from '../domain/bot/caller.js'
import type { IdempotencyClaim } from '../store/idempotency.js'
import type { Caller } from './auth.js'
import type { Deps } from './deps.js'

/** A success; status defaults to the endpoint's own. */
export interface Success<Data> {
  readonly ok: true
  readonly data: Data
  readonly status?: 200 | 201
  readonly replayed?: boolean
}

type CodesOf<E extends Endpoint> =
  | ErrorOf<E>
  | (E extends { idempotent: true | 'optional' } ? 'IDEMPOTENCY_KEY_REUSED' | 'IDEMPOTENCY_KEY_IN_PROGRESS' : never)
  | (E extends { caller: 'bot' } ? NonNullable<ReturnType<typeof refuseBotCall>>['code'] : never)
  | 'VALIDATION_FAILED'

type DataOf<E extends Endpoint> = E extends { streams: true }
  ? NodeJS.ReadableStream
  : E extends { verbatim: true }
    ? string
    : OutputOf<E>

export type Reply<E extends Endpoint> = Success<DataOf<E>> | Refusal<CodesOf<E>>

/** What a handler knows of the call beside its input. */
export interface Call<E extends Endpoint> {
  readonly caller: Caller
  readonly claim: E extends { idempotent: true }
    ? IdempotencyClaim
    : E extends { idempotent: 'optional' }
      ? IdempotencyClaim | undefined
      : undefined
  /** True when the body of the answer is not wanted: nothing may be shown once then. */
  readonly isHead: boolean
  /** True for a call that came out of an envelope. */
  readonly isInner: boolean
  /** Aborted when the caller leaves before the answer; for calls that wait. */
  gone(): AbortSignal
}

export type Handler<E extends Endpoint> = (input: InputOf<E>, call: Call<E>) => Promise<Reply<E>>

export type HandlersOf<Group extends Record<string, Endpoint>> = {
  readonly [Name in keyof Group]: Handler<Group[Name]>
}

export type Handlers = { readonly [Group in keyof Contract]: HandlersOf<Contract[Group]> }

export type MakeHandlers<Group extends keyof Contract> = (deps: Deps) => HandlersOf<Contract[Group]>

/** What a schema cannot say about a body, checked with it: by contract id. */
export type Checks = Readonly<Record<string, (body: never) => ValidationIssue[]>>

/** The result of a store operation as a reply: a record or a refusal. */
export function answer<Data extends object>(result: Data): Success<Exclude<Data, Refusal>> | Extract<Data, Refusal> {
  const refused = 'ok' in result && result.ok === false
  return refused ? (result as Extract<Data, Refusal>) : { ok: true, data: result as Exclude<Data, Refusal> }
}

export function invalid(...errors: ValidationIssue[]): Refusal<'VALIDATION_FAILED'> {
  return refuse('VALIDATION_FAILED', { errors })
}
