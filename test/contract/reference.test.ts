import { Script } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { failuresOf, membersOf, pathParameters } from '../../src/contract/endpoint.js'
import { endpoints } from '../../src/contract/index.js'
import { reference } from '../../src/contract/openapi/reference.js'
import type { Schema } from '../../src/contract/schema.js'

const { groups, failures } = reference()
const described = groups.flatMap((it) => it.endpoints)
const find = (id: string) => described.find((it) => it.id === id) ?? expect.unreachable(id)

test('reference has every endpoint of the contract, the operator endpoints last', () => {
  expect(described.map(({ id }) => id)).toEqual(endpoints.map(({ id }) => id))
  expect(groups.findIndex(({ endpoints }) => endpoints.some(({ caller }) => caller === 'operator'))).toBe(
    groups.length - 1,
  )
})

describe.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))('%s', (id, endpoint) => {
  test('reference lists the parameters, members and failures of its endpoint', () => {
    const { members, failures: codes } = find(id)
    const names = members.map((it) => `${it.in} ${it.name}`).filter((it) => !/[.[]/.test(it))
    const namesIn = (place: string, schema: Schema | undefined) =>
      Object.keys(membersOf(schema)).map((it) => `${place} ${it}`)
    expect(pathParameters(endpoint.path)).toEqual(Object.keys(membersOf(endpoint.params)))
    expect(names).toEqual([
      ...namesIn('path', endpoint.params),
      ...namesIn('query', endpoint.query),
      ...namesIn('body', endpoint.body),
    ])
    expect(codes.toSorted()).toEqual([...failuresOf(endpoint)].sort())
    for (const code of codes) expect(failures.map((it) => it.code)).toContain(code)
  })

  test('examples of the reference name the method, and read server and credential from variables', () => {
    const { example } = find(id)
    expect(example.curl).toContain(`"$\{VOUCHERCTL_BASE_URL}${endpoint.path.split(':')[0]}`)
    expect(example.curl).toMatch(/"Authorization: Bearer \$\{VOUCHERCTL_[A-Z_]+\}"/)
    expect(example.client.startsWith(`await client.${id}({`)).toBe(true)
    expect(() => new Script(`async () => { ${example.client} }`)).not.toThrow()
    expect(() => JSON.parse(example.response)).not.toThrow()
  })
})

test('reference names members of objects, lists and alternatives after their owner', () => {
  const update = find('bots.update')
  expect(update.members).toContainEqual({
    in: 'body',
    name: 'links[].url',
    type: 'string',
    required: true,
    description: 'an https URL of at most 2048 characters',
  })
  const validity = find('templates.create').members.filter(({ name }) => name.startsWith('validity'))
  expect(validity.map(({ name, type }) => `${name}: ${type}`)).toEqual([
    'validity: object',
    'validity.type: "fixed" | "relative"',
    'validity.starts_at: string',
    'validity.ends_at: string',
    'validity.duration_days: integer',
    'validity.delay_days: integer',
    'validity.not_after: string',
  ])
  expect(validity[4]?.description).toBe('with type "relative"; 1 to 1095')
})

test('client call of the reference is a literal of JavaScript with the idempotency key', () => {
  expect(find('vouchers.redeem').example.client).toBe(`await client.vouchers.redeem({
  credential: {
    type: 'redeem_code',
    value: 'M9S3-46Q3-D25V-T4FJ'
  },
  reference: 'till-4'
}, { idempotencyKey: 'order-1001-redeem' })`)
  expect(find('apps.get').example.client).toBe("await client.apps.get({ appId: 'app_01JDKQ4Z8N6W2T5Y9RB3CV7HXA' })")
})
