import { expect, test } from 'vitest'
import { failuresOf, membersOf } from '../../src/contract/endpoint.js'
import { contract, endpoints } from '../../src/contract/index.js'

/** Deletions whose effect another call undoes: it borrows a webhook or plants a fault again. */
const undone = ['platform.returnWebhook', 'platform.removeFault', 'platform.clearFaults']

test.each(endpoints.filter((it) => it.method === 'DELETE'))(
  'deletion $id names the loss, or another call undoes it',
  (endpoint) => {
    expect(endpoint.irreversible === undefined).toBe(undone.includes(endpoint.id))
  },
)

test.each(endpoints.filter((it) => it.leadsTo !== undefined))(
  'some call is refused with each code that $id leads to',
  ({ leadsTo }) => {
    const refused = endpoints.flatMap((it): string[] => [...failuresOf(it)])
    for (const code of leadsTo ?? []) expect(refused).toContain(code)
  },
)

test('an endpoint with a unique member has the failure code of that member', () => {
  const unique = endpoints.flatMap((endpoint) =>
    Object.values(membersOf(endpoint.body)).flatMap((member) =>
      'x-unique' in member
        ? [{ codes: [...failuresOf(endpoint)], unique: member['x-unique'] as { code: string } }]
        : [],
    ),
  )
  expect(unique.length).toBeGreaterThan(0)
  for (const {
    codes,
    unique: { code },
  } of unique)
    expect(codes).toContain(code)
})

test('input and records of bots have snake_case names, templates camelCase', { tags: 'envelope/2' }, () => {
  const own = ['apply', 'get', 'list', 'update', 'regenerateToken', 'metrics'] as const
  const snake = JSON.stringify([own.map((it) => contract.bots[it].output), endpoints.map((it) => [it.body, it.query])])
  expect(snake.match(/"(?!additionalProp|propertyNames)\w*[a-z][A-Z]\w*":\{/g)).toBeNull()
  expect(JSON.stringify(contract.templates.create.output).match(/"\w*_\w*":\{/g)).toBeNull()
})
