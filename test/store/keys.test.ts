import { afterEach, beforeEach, expect, it } from 'vitest'
import { hasNoKeys, lockKeys, registerKeys, unknownKeys } from '../../src/store/keys.js'
import { all } from '../../src/store/operation.js'
import type { Store } from '../../src/store/store.js'
import { openTestStore } from '../support/store/engines.js'
import { locksOf } from '../support/store/store-steps.js'

let store: Store
beforeEach(() => {
  store = openTestStore()
})
afterEach(() => store.close())

const register = (checks: Record<string, string>, now: number) =>
  store.write(() => registerKeys(new Map(Object.entries(checks)), now))
const unknown = (checks: Record<string, string>) => store.read(() => unknownKeys(new Map(Object.entries(checks))))

it('store has no credential keys until the first is registered', async () => {
  expect(await store.read(hasNoKeys)).toBe(true)
  await register({ key_1: 'a' }, 1)
  expect(await store.read(hasNoKeys)).toBe(false)
})

it('registered key that the process lacks, or has with another value, is unknown', async () => {
  await register({ key_1: 'a', key_2: 'b', key_3: 'c' }, 1)
  expect(await unknown({ key_1: 'a', key_2: 'x', key_4: 'd' })).toEqual(['key_2', 'key_3'])
  expect(await unknown({ key_1: 'a', key_2: 'b', key_3: 'c', key_4: 'd' })).toEqual([])
})

it('registered key keeps its value and its time when it is registered again', async () => {
  await register({ key_1: 'a' }, 1)
  await register({ key_1: 'x', key_2: 'b' }, 2)
  expect(await store.read(() => all('select * from credential_keys order by key_id'))).toEqual([
    { key_id: 'key_1', key_check: 'a', created_at: 1 },
    { key_id: 'key_2', key_check: 'b', created_at: 2 },
  ])
})

it('starts of several processes lock the credential keys', async () => {
  expect(await locksOf(store, lockKeys)).toEqual(['subject credential keys'])
})
