import type { CredentialKind, Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import type { Settings } from '../config/settings.js'
import type { Failure } from '../failure.js'
import type { Globals } from '../flags/globals.js'
import type { Host, Questions } from '../host/host.js'
import type { Plan, Result } from '../output/outcome.js'
import type { Output } from '../output/output.js'

export interface ContextCallOptions {
  /** A command to suggest if the outcome is unknown: it shows whether the action took place. */
  readonly check?: string
  /** Milliseconds that remain of --timeout. */
  readonly timeoutMs?: number
  /** Text of the spinner; default: the summary of the endpoint. */
  readonly progress?: string
  /** Aborts the call instead of Ctrl-C, for cleanup after Ctrl-C. */
  readonly signal?: AbortSignal
  /** Server and credential that replace the chosen ones. */
  readonly target?: { readonly baseUrl: string; readonly credential: string }
}

/** The successful case of `Ok<T> | Failure`. */
export interface Ok<T> {
  readonly ok: true
  readonly value: T
}

/** The environment of a command. Expensive members are functions, so that a command opens only what it uses. */
export interface Context {
  readonly host: Host
  readonly globals: Globals
  readonly settings: Settings
  readonly output: Output
  readonly dryRun: boolean
  /** Calls the chosen server with the credential that the endpoint takes. A dry run returns the plan so far. */
  call<E extends Endpoint>(
    endpoint: E,
    input: InputOf<E>,
    options?: ContextCallOptions,
  ): Promise<Result<OutputOf<E>> | Plan | Failure>
  /** Adds a change on this machine to the plan of a dry run. */
  plan(action: string): Plan
  /** Base URL of the chosen server. It refuses a missing profile, except for a login, which creates it. */
  baseUrl(mayBeNew?: boolean): Ok<string> | Failure
  credential(kind: CredentialKind, baseUrl: string): Promise<(Ok<string> & { source: string }) | Failure>
  /** Prompts the user; fails with exit code 3 without a terminal. */
  ask<T>(missing: () => Failure, question: (questions: Questions) => Promise<T | undefined>): Promise<Ok<T> | Failure>
  /** Prompts before an irreversible action unless `--yes` confirms it. */
  confirm(confirmation: Confirmation): Promise<Failure | undefined>
  /** The command line, quoted for a shell. */
  readonly command: string
}

interface Confirmation {
  /** `Revoking tok_01` */
  readonly action: string
  /** A sentence that names the irrecoverable loss. Without it, only production profiles need a confirmation. */
  readonly loses?: string
  /** The word to type on a production profile. Without it, a yes is enough. */
  readonly word?: string
}
