import { createCall } from '../../client/call.js'
import type { Transport } from '../../client/transport.js'
import type { CredentialKind } from '../../contract/endpoint.js'
import { platform } from '../../contract/platform/platform.js'
import type { RunningServer } from '../../server/options.js'
import { isLoopbackHost } from '../../values/loopback.js'
import type { Context, Ok } from '../command/context.js'
import { showProductionBanner } from '../command/create-context.js'
import { openInMode, withRetries } from '../command/transport.js'
import { findCredential } from '../config/credentials.js'
import { readOperatorKey, refuseImpostor } from '../config/local-server.js'
import { fromCall } from '../failures/call-failure.js'
import { failureOfServer } from '../failures/codes.js'
import { type Failure, fail } from '../failures/failure.js'
import type { Scenario } from './document.js'
import { openInbox, type ScenarioInbox } from './inbox.js'

type CredentialResult = Ok<string> | Failure

/** Requirements of a scenario before its first step: a server, a webhook receiver, and credentials. */
export interface Fixture {
  readonly transport: Transport
  readonly inbox: ScenarioInbox
  credential(kind: CredentialKind): Promise<CredentialResult>
  /** True if an operator key is known, without a question to the user. */
  hasOperator(): Promise<boolean>
  /** False if the server runs on another machine, which cannot deliver to this one. */
  readonly reachesReceiver: boolean
  close(): Promise<void>
}

const ACCOUNT = 'scenario'

/** Sets up a fixture. @param baseUrl a running server; undefined starts a server that ends with the fixture */
export async function openFixture(
  context: Context,
  { server: { own: _own, ...wanted }, webhookResponses }: Scenario,
  baseUrl: string | undefined,
  webhookPort: number,
): Promise<Ok<Fixture> | Failure> {
  const inbox = await openInbox(webhookResponses, webhookPort)
  if (!inbox.ok) return inbox
  const { close } = inbox.value
  if (baseUrl !== undefined) {
    const transport = await open(context, baseUrl)
    const credential = (kind: CredentialKind) => context.credential(kind, baseUrl)
    const { host, globals, settings } = context
    const hasOperator = async () => (await findCredential(host, globals, settings, 'operator', baseUrl)).ok
    const reachesReceiver = isLoopbackHost(new URL(baseUrl).hostname)
    return { ok: true, value: { transport, inbox: inbox.value, credential, hasOperator, reachesReceiver, close } }
  }
  let server: RunningServer
  try {
    const { startServer } = await import('../../server/listen.js')
    server = await startServer({
      memory: true,
      port: 0,
      operator: true,
      testClock: true,
      logLevel: 'silent',
      rateLimits: 'off',
      webhookLoopbackPorts: [inbox.value.port],
      webhookLoopbackOnly: true,
      ...wanted,
    })
  } catch (error) {
    await close()
    return failureOfServer(error)
  }
  const transport = await open(context, server.baseUrl)
  return {
    ok: true,
    value: {
      transport,
      inbox: inbox.value,
      credential: bundledCredentials(transport, server),
      hasOperator: async () => true,
      reachesReceiver: true,
      async close() {
        await server.close()
        await close()
      },
    },
  }
}

/** Checks that no other process listens on the port of a local server. Call it once per run, not for each file. */
export async function checkServer(context: Context, baseUrl: string): Promise<Failure | undefined> {
  const impostor = await refuseImpostor(context.settings, baseUrl)
  if (impostor === undefined) showProductionBanner(context, baseUrl)
  return impostor
}

/** Opens a transport that retries only with --retries, so that assertions see the server's first response. */
async function open(context: Context, baseUrl: string): Promise<Transport> {
  const transport = await openInMode(context, baseUrl)
  return context.globals.retries === undefined ? transport : withRetries(context, transport)
}

function bundledCredentials(transport: Transport, server: RunningServer): Fixture['credential'] {
  const operator = readOperatorKey({ operator_key_file: server.operatorKeyFile }) ?? ''
  const logIn = async (): Promise<CredentialResult> => {
    const login = await createCall(transport, { token: operator })(platform.issueAccountToken, { accountId: ACCOUNT })
    return login.ok ? { ok: true, value: login.data.jwt } : fromCall(login)
  }
  return async (kind) => {
    if (kind === 'operator') return { ok: true, value: operator }
    // Log in for each use: a step may move the clock beyond the expiry of the JWT.
    if (kind === 'jwt') return logIn()
    const name = kind === 'token' ? 'tokens.create' : 'bots.get'
    return fail('CREDENTIAL_REQUIRED', `No ${kind} is known: capture it from ${name} and name it under "use".`)
  }
}
