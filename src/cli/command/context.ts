import type { CredentialKind, Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import type { Settings } from '../config/settings.js'
import type { Failure } from '../failures/failure.js'
import type { Globals } from '../flags/globals.js'
import type { Host, Questions } from '../host/host.js'
import type { Plan, Result } from '../output/outcome.js'
import type { Output } from '../output/output.js'
import type { LineWithAnswers } from './line-with-answers.js'

export interface ContextCallOptions {
  /** A command that shows whether the change took place, suggested if the outcome is unknown. */
  readonly check?: string
  readonly timeoutMs?: number
  /** Text beside the spinner; default: the summary of the endpoint. */
  readonly progress?: string
  /** Aborts the call in place of Ctrl-C, for calls that clean up after Ctrl-C. */
  readonly signal?: AbortSignal
  /** Server and credential for this call, instead of the configured ones. */
  readonly target?: { readonly baseUrl: string; readonly credential: string; readonly source?: string }
  /** True if the command has proved the target itself, whatever server the profile follows. */
  readonly isProven?: true
}

/** The result of a successful operation; a failed one returns a `Failure` instead. */
export interface Ok<T> {
  readonly ok: true
  readonly value: T
}

/** The tools of a command. Expensive members are functions, so that a command loads only what it needs. */
export interface Context {
  readonly host: Host
  readonly globals: Globals
  readonly settings: Settings
  readonly output: Output
  readonly dryRun: boolean
  /** Calls the chosen server with a credential of the kind that the endpoint needs. A dry run returns its plan. */
  call<E extends Endpoint>(
    endpoint: E,
    input: InputOf<E>,
    options?: ContextCallOptions,
  ): Promise<Result<OutputOf<E>> | Plan | Failure>
  /** Makes a call that reads which record the user means. A dry run sends it too, and its plan says so. */
  lookUp<E extends Endpoint>(endpoint: E, input: InputOf<E>): Promise<Result<OutputOf<E>> | Failure>
  /** Adds a change on this machine to the plan of a dry run, and returns the plan. */
  plan(action: string): Plan
  /** Returns the base URL of the chosen server. Fails for a missing profile unless `mayBeNew` (a login creates it). */
  baseUrl(mayBeNew?: boolean): Ok<string> | Failure
  credential(kind: CredentialKind, baseUrl: string): Promise<(Ok<string> & { source: string }) | Failure>
  /** The credential that the command found last, without its value. */
  readonly lastCredential: { readonly kind: CredentialKind; readonly source: string } | undefined
  /** Asks the user a question; without a terminal it fails with exit code 3. */
  ask<T>(missing: () => Failure, question: (questions: Questions) => Promise<T | undefined>): Promise<Ok<T> | Failure>
  /** Asks the user before an irreversible action; `--yes` skips the question. */
  confirm(confirmation: Confirmation): Promise<Failure | undefined>
  readonly line: LineWithAnswers
}

interface Confirmation {
  readonly action: string
  /** A sentence that names the irrecoverable loss. Without it, only production profiles need a confirmation. */
  readonly loses?: string | undefined
  /** The word that the user must type with a production profile. Without it, `y` is enough. */
  readonly word?: string
}
