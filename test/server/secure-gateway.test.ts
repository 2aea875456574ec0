import { expect, test } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { createSecureSession } from '../../src/secure/index.js'
import { START_MS, testApp } from '../support/server-app.js'
import { newTenant, templateBody } from '../support/server-tenant.js'
import { wireOf } from '../support/server-client.js'

test('a call through the encrypted transport is answered as a plain one', async () => {
  const server = testApp()
  const tenant = await newTenant(server)
  const session = createSecureSession({
    mode: 'required',
    now: () => START_MS,
    send: async ({ method, path, headers, body }) => {
      const answer = await server.app.inject({ method: method as 'POST', url: path, headers, ...(body === undefined ? {} : { payload: body }) })
      return { status: answer.statusCode, headers: answer.headers as Record<string, string>, body: answer.payload }
    },
  })
  const wire = wireOf(contract.templates.create, templateBody())
  const sent = await session.send({ method: wire.method, path: wire.path, headers: { authorization: `Bearer ${tenant.token}`, 'content-type': 'application/json' }, body: String(wire.body) })
  expect(sent).toMatchObject({ ok: true, encrypted: true, succeeded: true, response: { status: 201 } })
  await server.close()
})
