import type { BodyOf, Endpoint, ErrorOf, InputOf, OutputOf } from '../contract/endpoint.js'
import type { ValidationIssue } from '../contract/envelope.js'
import { type FailureCode, type Refusal, refuse } from '../contract/errors.js'
import type { Contract } from '../contract/index.js'
import type { refuseBotCall } from '../domain/bot/caller.js'
import type { IdempotencyKey } from '../domain/idempotency.js'
import type { InnerRequest } from '../secure/inner-request.js'
import type { Op } from '../store/operation.js'
import type { Deps } from './deps.js'
import type { ActingFor, Caller, Carrier } from './http/api-call.js'
import type { CapturedCall } from './observe/exchange.js'

/** A success; `status` defaults to the endpoint's status. */
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
    ? string | AsyncIterable<string>
    : OutputOf<E>

export type Reply<E extends Endpoint> = Success<DataOf<E>> | Refusal<CodesOf<E>>

/** Data of a writing call that the store keeps. */
export interface CallFacts<E extends Endpoint> extends Pick<Caller, 'applicationId' | 'calledBy'> {
  readonly requestId: string
  readonly idempotencyKey: E extends { idempotent: true }
    ? IdempotencyKey
    : E extends { idempotent: 'optional' }
      ? IdempotencyKey | undefined
      : undefined
}

/** Context that a handler receives in addition to the input of a call. */
export interface Call<E extends Endpoint> {
  readonly caller: Caller
  readonly facts: CallFacts<E>
  /** True if nobody could read a secret in the response, so that none may be created: HEAD, or a call of the operator. */
  readonly hidesSecrets: boolean
  /** True for a call that the server decrypted from an envelope. */
  readonly isInner: boolean
  /** Returns a signal that aborts when the client disconnects before the response; for calls that wait. */
  gone(): AbortSignal
  /** Makes a call inside this one, in place of another caller; for the operator only. */
  callAs(as: ActingFor, request: InnerRequest): ReturnType<CallAs>
}

export type CallAs = (
  carrier: Carrier,
  as: ActingFor,
  request: InnerRequest,
) => Promise<{ readonly captured: CapturedCall; readonly code: FailureCode | null }>

type Handle<E extends Endpoint> = (input: InputOf<E>, call: Call<E>) => Promise<Reply<E>>

/** A handler with a check (the issues of a body that is valid by its schema), or one that bypasses the gate. */
export interface CheckedHandler<E extends Endpoint> {
  readonly check?: (body: BodyOf<E>) => ValidationIssue[]
  readonly handle: Handle<E>
  /** Set for a call that uses the Gate itself: it replaces the state, or enters for part of its work. */
  readonly bypassesGate?: true
}

export type Handler<E extends Endpoint> = Handle<E> | CheckedHandler<E>

type HandlersOf<Group extends Record<string, Endpoint>> = {
  readonly [Name in keyof Group]: Handler<Group[Name]>
}

export type Handlers = { readonly [Group in keyof Contract]: HandlersOf<Contract[Group]> }

/** Creates the handlers of a group. */
export type MakeHandlers<Group extends keyof Contract> = (deps: Deps, replies: Replies) => HandlersOf<Contract[Group]>

/** Creates some handlers of a group; where the parts are joined, the compiler reports missing handlers. */
export type MakeSome<Group extends keyof Contract> = (
  deps: Deps,
  replies: Replies,
) => Partial<HandlersOf<Contract[Group]>>

type ReplyOf<Data> = Success<Exclude<Data, Refusal>> | Extract<Data, Refusal>

/** Runs store operations and returns their record or refusal as the reply of a handler. */
export interface Replies {
  read<Data extends object>(op: () => Op<Data>): Promise<ReplyOf<Data>>
  write<Data extends object>(op: () => Op<Data>): Promise<ReplyOf<Data>>
}

export function repliesOf({ store }: Pick<Deps, 'store'>): Replies {
  return {
    read: async (op) => replyOf(await store.read(op)),
    write: async (op) => replyOf(await store.write(op)),
  }
}

export function replyOf<Data extends object>(result: Data): ReplyOf<Data> {
  const refused = 'ok' in result && result.ok === false
  return refused ? (result as Extract<Data, Refusal>) : { ok: true, data: result as Exclude<Data, Refusal> }
}

export function invalid(...errors: ValidationIssue[]): Refusal<'VALIDATION_FAILED'> {
  return refuse('VALIDATION_FAILED', { errors })
}
