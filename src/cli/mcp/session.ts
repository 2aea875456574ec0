import { parseBaseUrl } from '../../client/base-url.js'
import { isLoopbackHost } from '../../values/loopback.js'
import type { Context } from '../command/context.js'
import { createContext } from '../command/create-context.js'
import { resolveSettings } from '../config/settings.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Globals } from '../flags/globals.js'
import type { Host } from '../host/host.js'
import { Output } from '../output/output.js'
import type { ToolCall } from './tool.js'

/** What all calls of one client have in common. */
export interface Session {
  readonly context: Context
  readonly allowWrite: boolean
  /** Command lines that the tool `prove` may start. */
  readonly programs: readonly string[]
  /** Variables that scenarios may use. */
  readonly referable: Host['env']
  /** The server that ends with the session; its environment has the credentials of its seed. */
  readonly ownServer: { readonly baseUrl: string; readonly env: Host['env'] } | undefined
  /** Tools that run. At the end of the session they are aborted, and it waits until they have removed what they made. */
  readonly running: Set<Promise<unknown>>
}

/** True if tools may change nothing; the session's own server is not the server of the profile. */
export const isReadOnly = ({ ownServer }: Session, { settings }: Context) =>
  ownServer === undefined && settings.production.value

const nowhere = { write: () => true }

/** Standard streams of a tool: stdin and stdout carry the protocol. */
const silent = { stdin: { async *[Symbol.asyncIterator]() {} }, stdout: nowhere, stderr: nowhere }

/** A signal that other signals abort, or a time limit; AbortSignal.timeout could be lost to the garbage collector. */
export function limited(msMax: number, ...signals: readonly AbortSignal[]) {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(), msMax)
  return { signal: AbortSignal.any([limit.signal, ...signals]), end: () => clearTimeout(timer) }
}

/** Opens the context of a call. Settings are read anew, because servers start and stop during a session. */
export function openCall(session: Session, signal: AbortSignal): ToolCall | Failure {
  const { context: served, ownServer, referable } = session
  const contextWith: ToolCall['contextWith'] = (flags, env = ownServer?.env ?? served.host.env) => {
    const host: Host = { ...served.host, ...silent, signal, referable, env }
    const address = ownServer && { 'base-url': ownServer.baseUrl }
    const globals: Globals = { ...served.globals, ...address, yes: true, quiet: true, 'no-input': true, ...flags }
    const resolved = resolveSettings(host, globals)
    if (!resolved.ok) return resolved
    return createContext(host, globals, resolved.settings, new Output(host, { format: 'json' }), served.line)
  }
  const context = contextWith({})
  if ('code' in context) return context
  const baseUrl = context.settings.baseUrl.value
  const isLocal = baseUrl === undefined || isLoopbackHost(parseBaseUrl(baseUrl).hostname)
  return {
    context,
    programs: session.programs,
    isLocal,
    contextWith,
    refuseWrite() {
      if (isReadOnly(session, context))
        return fail('WRITE_NOT_ALLOWED', 'Tools change nothing with a production profile.')
      if (isLocal || session.allowWrite) return undefined
      return fail('WRITE_NOT_ALLOWED', `Tools only read ${baseUrl}, which is not on this machine.`, WRITE_HINT)
    },
  }
}

const WRITE_HINT = 'The user can permit changes by starting `voucherctl mcp serve --allow-write`.'
