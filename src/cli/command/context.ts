import type { CredentialKind, Endpoint, InputOf, OutputOf } from '../../contract/endpoint.js'
import type { Settings } from '../config/settings.js'
import type { Failure } from '../failure.js'
import type { Globals } from '../flags/globals.js'
import type { Host, Questions } from '../host/host.js'
import type { Plan, Result } from '../output/outcome.js'
import type { Output } from '../output/output.js'

export interface ContextCallOptions {
  /** A command that shows whether the action took place, for an outcome that is unknown. */
  readonly check?: string
  /** Milliseconds, in place of --timeout: what is left of it. */
  readonly timeoutMs?: number
  /** What the spinner says; default what the endpoint does. */
  readonly progress?: string
  /** Ends the call in place of Ctrl-C: for what is still to be done after one. */
  readonly signal?: AbortSignal
  /** Another server and credential than the chosen ones. */
  readonly target?: { readonly baseUrl: string; readonly credential: string }
}

export interface Found<T> {
  readonly ok: true
  readonly value: T
}

/** What a command works with. Whatever costs something is a function, so that nothing is opened in vain. */
export interface Context {
  readonly host: Host
  readonly globals: Globals
  readonly settings: Settings
  readonly output: Output
  readonly dryRun: boolean
  /** Calls the chosen server with the credential that the endpoint takes. In a dry run: the plan so far. */
  call<E extends Endpoint>(
    endpoint: E,
    input: InputOf<E>,
    options?: ContextCallOptions,
  ): Promise<Result<OutputOf<E>> | Plan | Failure>
  /** In a dry run of a change on this machine: what would be done. */
  plan(action: string): Plan
  /** Of the chosen server. A profile that does not exist is refused, save where a login makes it. */
  baseUrl(mayBeNew?: boolean): Found<string> | Failure
  credential(kind: CredentialKind, baseUrl: string): Promise<(Found<string> & { source: string }) | Failure>
  /** Asks, or fails with exit code 3 where nobody can answer. */
  ask<T>(
    missing: () => Failure,
    question: (questions: Questions) => Promise<T | undefined>,
  ): Promise<Found<T> | Failure>
  /** Asks before an irreversible action; `--yes` confirms without asking. */
  confirm(confirmation: Confirmation): Promise<Failure | undefined>
  /** The command line, quoted for a shell. */
  readonly command: string
}

interface Confirmation {
  /** `Revoking tok_01` */
  readonly action: string
  /** A sentence that names the irrecoverable loss. Without it, only a production profile asks. */
  readonly loses?: string
  /** The word to type on a production profile. Without it, a yes is enough there too. */
  readonly word?: string
}
