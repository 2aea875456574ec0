import { expect, test } from 'vitest'
import { contract } from '../../src/contract/index.js'
import { securely } from '../support/secure-send.js'
import { testApp } from '../support/server-app.js'
import { callerOf } from '../support/server-client.js'
import { newTenant, templateBody } from '../support/server-tenant.js'

test('a call through the encrypted transport is answered as a plain one', async () => {
  const server = testApp()
  const tenant = await newTenant(server)
  const call = callerOf(securely(server.send), tenant.token)
  const created = await call(contract.templates.create, templateBody())
  expect(created.status).toBe(201)
  const listed = await tenant.runtime(contract.templates.list, {})
  expect(listed.data.items).toEqual([created.data])
  await server.close()
})
