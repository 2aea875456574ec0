// Bundled and loaded by throughput.js: the client half of the encrypted transport, for prebuilt requests.
import { randomBytes } from 'node:crypto'
import {
  bootstrapRequest,
  encodeInnerRequest,
  makeClientKeyPair,
  openResponse,
  readBootstrap,
  readSession,
  sealRequest,
  sessionRequest,
} from '../../../src/secure/index.js'
import { httpRequest } from '../http-request.js'

/**
 * Opens an encrypted session and checks it with the call `first`; returns a function that encrypts a call and returns
 * the bytes of the dispatch request.
 */
export async function openSession(baseUrl, first) {
  const bootstrap = readBootstrap(await send(baseUrl, bootstrapRequest), [])
  if (!bootstrap.ok) throw new Error(bootstrap.code)
  const pair = makeClientKeyPair(randomBytes)
  const response = await send(baseUrl, sessionRequest(bootstrap, pair, ''))
  const made = readSession(response, bootstrap, pair, { origin: '', serverNow: bootstrap.serverTime })
  if (!made.ok) throw new Error(made.code)
  const probe = sealRequest(encodeInnerRequest(first).plaintext, made.session, Date.now(), randomBytes)
  const opened = openResponse(await send(baseUrl, probe.request), probe.envelope, made.session)
  if (!opened.ok || opened.response.status !== 200) throw new Error(JSON.stringify(opened))
  return (request) => {
    const inner = encodeInnerRequest(request)
    const { request: outer } = sealRequest(inner.plaintext, made.session, Date.now(), randomBytes)
    return httpRequest(outer.path, outer.headers, outer.body)
  }
}

async function send(baseUrl, { method, path, headers, body }) {
  const response = await fetch(`${baseUrl}${path}`, { method, headers, body })
  return { status: response.status, headers: Object.fromEntries(response.headers), body: await response.text() }
}
