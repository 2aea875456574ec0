import { expect, test } from 'vitest'
import { leavesOfEntries } from '../../../src/cli/command/tree.js'
import { entries } from '../../../src/cli/program.js'
import { membersOf } from '../../../src/contract/endpoint.js'

/** Members that no user sets, by their endpoint: the command, or the page, decides on them. */
const decided: Readonly<Record<string, readonly string[]>> = {
  'bots.updates': ['timeout'],
  'platform.activity': ['names'],
  'platform.reset': ['shared'],
  'platform.restoreSnapshot': ['shared'],
}

test('every member of the input of a call has a flag or an argument of its command', async () => {
  const set = new Map<string, Set<string>>()
  const wanted = new Map<string, string[]>()
  for (const [, { endpoint, flags = {}, positional }] of await leavesOfEntries(entries)) {
    if (endpoint === undefined) continue
    const members = [...Object.values(flags), positional].flatMap((it) => it?.member ?? [])
    const names = set.get(endpoint.id) ?? new Set()
    for (const it of members) names.add(it.split('/')[0] as string)
    set.set(endpoint.id, names)
    wanted.set(endpoint.id, Object.keys({ ...membersOf(endpoint.query), ...membersOf(endpoint.body) }))
  }
  const missing = [...wanted].map(([id, names]) => [id, names.filter((it) => !set.get(id)?.has(it))] as const)
  expect(Object.fromEntries(missing.filter(([, names]) => names.length > 0))).toEqual(decided)
})
