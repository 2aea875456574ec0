import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { type ServerChild, startServerChild } from '../support/server/child.js'
import { bearerLine, RawConnection } from '../support/server/raw.js'
import { inFolder, standaloneServer } from '../support/server/server.js'
import { newTenant, Tenant } from '../support/server/tenant.js'

const REQUEST = 'GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n'
const RESPONSE = /^HTTP\/1\.1 404 [^]*?\r\nContent-Length: (\d+)\r\n[^]*?\r\n\r\n/i

interface Seen {
  responses: number
  /** Whether the last response had `Connection: close`. */
  hasConnectionClose: boolean
  /** What the client had sent or received in part when the connection ended. */
  readonly atEnd: 'nothing' | 'a request' | 'part of a response' | 'a reset'
}

function issueBytes({ token }: Tenant, templateId: string, key: string): string {
  const body = JSON.stringify({ template_id: templateId, external_issue_id: key, recipient_user_id: 'user-1' })
  return (
    `POST ${contract.vouchers.issue.path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\nIdempotency-Key: ${key}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

/** Sends requests one after another on one connection, each after the previous response, until the server closes it. */
function keepAsking(port: number, onResponse: () => void): Promise<Seen> {
  return new Promise((resolve) => {
    const seen = { responses: 0, hasConnectionClose: false }
    let received = ''
    let awaits = true
    const socket = connect({ port, host: '127.0.0.1', noDelay: true }, () => socket.write(REQUEST))
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1')
      const [head = '', length] = RESPONSE.exec(received) ?? []
      if (head === '' || received.length < head.length + Number(length)) return
      received = received.slice(head.length + Number(length))
      seen.responses += 1
      seen.hasConnectionClose = /\r\nConnection: close\r\n/i.test(head)
      awaits = !seen.hasConnectionClose
      if (awaits) socket.write(REQUEST)
      onResponse()
    })
    socket.on('error', () => resolve({ ...seen, atEnd: 'a reset' }))
    socket.on('end', () =>
      resolve({ ...seen, atEnd: received !== '' ? 'part of a response' : awaits ? 'a request' : 'nothing' }),
    )
  })
}

describe('SIGTERM', { tags: 'connections/3' }, () => {
  it('SIGTERM under load: every request gets a response, the last with Connection: close', () =>
    inFolder(async (dataDir) => {
      const child = await startServerChild(dataDir)
      let stopped: Promise<number | null> | undefined
      let responses = 0
      const onResponse = () => {
        responses += 1
        if (responses === 1_000) stopped = child.stop(60_000)
      }
      const seen = await Promise.all(Array.from({ length: 16 }, () => keepAsking(child.port, onResponse)))
      expect(seen.map(({ hasConnectionClose, atEnd }) => [hasConnectionClose, atEnd])).toEqual(
        seen.map(() => [true, 'nothing']),
      )
      expect(await stopped).toBe(0)
    }))

  it('SIGTERM without load closes idle connections immediately', () =>
    inFolder(async (dataDir) => {
      const child: ServerChild = await startServerChild(dataDir)
      const idle = [await RawConnection.to(child.port), await RawConnection.to(child.port)]
      await idle[0]?.write(REQUEST).response()
      // The server destroys connections that are still open after 9 s, so it must exit before.
      expect(await child.stop(8_000)).toBe(0)
      for (const connection of idle) await connection.end()
    }))

  it('SIGTERM ends the server before 9 s though followers never read their lines', () =>
    inFolder(async (dataDir) => {
      const child = await startServerChild(dataDir)
      const history = await RawConnection.to(child.port)
      for (let sent = 0; sent < 1_000; sent++) await history.write(REQUEST).response()
      const get = (query: string) =>
        `GET ${contract.platform.activity.path}${query} HTTP/1.1\r\nHost: 127.0.0.1:${child.port}\r\n` +
        `${bearerLine(child.operatorKey)}\r\n`
      // More bytes than the system keeps for a client that does not read.
      const requests = get('').repeat(50) + get('?follow=true')
      const followers = await Promise.all(Array.from({ length: 3 }, () => RawConnection.to(child.port)))
      for (const follower of followers) follower.pause().write(requests)
      // A later request has a response: the server has begun with the followers' responses.
      await history.write(REQUEST).response()
      expect(await child.stop(8_000)).toBe(0)
      for (const follower of followers) follower.destroy()
    }))

  it('SIGTERM ends the server before 9 s though a client never sends the rest of its request', () =>
    inFolder(async (dataDir) => {
      const child = await startServerChild(dataDir)
      const tenant = await newTenant(child)
      const request = issueBytes(tenant, 'tpl_none', 'order-1')
      const half = await RawConnection.to(child.port)
      half.write(request.slice(0, -1))
      await child.send({ method: 'GET', path: '/healthz' })
      expect(await child.stop(8_000)).toBe(0)
      await half.end()
    }))

  it('SIGTERM during pipelined requests: exactly those with a response take effect', () =>
    inFolder(async (dataDir) => {
      const child = await startServerChild(dataDir)
      const tenant = await newTenant(child)
      const { id } = await tenant.template()
      const issue = (key: string) => issueBytes(tenant, id, key)
      let stopped: Promise<number | null> | undefined
      let responses = 0
      const askInRows = async (name: string) => {
        const connection = await RawConnection.to(child.port)
        for (let sent = 0; ; sent++) {
          connection.write(Array.from({ length: 10 }, (_, n) => issue(`${name}-${sent}-${n}`)).join(''))
          for (let n = 0; n < 10; n++) {
            const { status, headers } = await connection.response()
            expect(status).toBe(201)
            responses += 1
            if (responses === 100) stopped = child.stop(60_000)
            if (headers.connection !== 'close') continue
            await connection.end()
            return expect(connection.received).toBe('')
          }
        }
      }
      await Promise.all(['a', 'b', 'c', 'd'].map(askInRows))
      expect(await stopped).toBe(0)

      const again = await startServerChild(dataDir)
      const { accountId, jwt, appId, token, tokenId } = tenant
      const { data } = await new Tenant(again, accountId, jwt, appId, token, tokenId).runtime(
        contract.templates.list,
        {},
      )
      expect(data.items.map(({ issuedCount }) => issuedCount)).toEqual([responses])
      expect(await again.stop(60_000)).toBe(0)
    }))
})

describe('server that closes during pipelined requests', { tags: 'connections/3' }, () => {
  it.each([1, 4, 8, 9, 12])(
    'exactly the requests with a response take effect if the server closes at request %i of 12',
    (nth) =>
      inFolder(async (dataDir) => {
        const server = await standaloneServer({ dataDir })
        const tenant = await newTenant(server)
        const { id } = await tenant.template()
        let parsed = 0
        let closed: Promise<void> | undefined
        const onRequest = () => {
          parsed += 1
          if (parsed === nth) closed = server.close()
        }
        const connection = await RawConnection.to(server.port)
        subscribe('http.server.request.start', onRequest)
        connection.write(Array.from({ length: 12 }, (_, n) => issueBytes(tenant, id, `order-${n}`)).join(''))
        let responses = 0
        for (let ends = false; !ends; ) {
          const { status, headers } = await connection.response()
          expect(status).toBe(201)
          responses += 1
          ends = headers.connection === 'close'
        }
        await connection.end()
        expect(connection.received).toBe('')
        unsubscribe('http.server.request.start', onRequest)
        await closed

        const again = await standaloneServer({ dataDir })
        const { accountId, jwt, appId, token, tokenId } = tenant
        const { data } = await new Tenant(again, accountId, jwt, appId, token, tokenId).runtime(
          contract.templates.list,
          {},
        )
        expect(data.items.map(({ issuedCount }) => issuedCount)).toEqual([responses])
        await again.close()
      }),
  )
})
