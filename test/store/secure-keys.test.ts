import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { load, replace } from '../../src/store/secure-keys.js'
import type { Store } from '../../src/store/store.js'
import { onPostgres } from '../support/store/engine-name.js'
import { openTestStore } from '../support/store/engines.js'
import { noticesOf } from '../support/store/store-steps.js'

// Only on PostgreSQL: a server on SQLite has its transport keys in a file.
describe.runIf(onPostgres)('stored transport keys', () => {
  let store: Store
  beforeEach(() => {
    store = openTestStore()
  })
  afterEach(() => store.close())

  const replaced = (version: number, sealed: string) => store.write(() => replace(version, sealed))
  const stored = () => store.read(load)

  it('first keys have version 1, and each replacement of the stored version the next one', async () => {
    expect(await stored()).toBeUndefined()
    expect(await replaced(0, 'first')).toBe(true)
    expect(await stored()).toEqual({ version: 1, sealed: 'first' })
    expect(await replaced(1, 'second')).toBe(true)
    expect(await stored()).toEqual({ version: 2, sealed: 'second' })
  })

  it('replacement of a version that is no longer stored changes nothing', async () => {
    expect(await replaced(1, 'x')).toBe(false)
    await replaced(0, 'first')
    expect([await replaced(0, 'x'), await replaced(2, 'x')]).toEqual([false, false])
    expect(await stored()).toEqual({ version: 1, sealed: 'first' })
  })

  it('each replacement notifies the other processes, unless it changed nothing', async () => {
    const notices = []
    for (const version of [0, 0, 1, 1]) notices.push(await noticesOf(store, () => replace(version, 'x')))
    // The text is fixed: processes of other versions listen to it.
    expect(notices).toEqual([['secure keys'], [], ['secure keys'], []])
  })
})
