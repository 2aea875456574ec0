import { expect, it } from 'vitest'
import { BotCalls, TokenUses } from '../../../src/server/background/counts.js'
import type { Store } from '../../../src/store/store.js'
import { openTestStore } from '../../support/store/engines.js'

/** A store whose first write waits until `finish`. */
function slowStore(): { readonly store: Store; readonly finish: () => void } {
  const store = openTestStore()
  let finish = () => {}
  let before: Promise<void> | undefined = new Promise((resolve) => {
    finish = resolve
  })
  const write: Store['write'] = async (op) => {
    const waited = before
    before = undefined
    await waited
    return store.write(op)
  }
  return { store: { ...store, write, close: () => store.close() }, finish: () => finish() }
}

const call = { path: '/api/v1/bots/getMe', status: 200, code: null }

it.each([
  ['TokenUses', (store: Store) => Object.assign(new TokenUses(store), { use: (it: TokenUses) => it.note('tok', 1) })],
  [
    'BotCalls',
    (store: Store) => Object.assign(new BotCalls(store), { use: (it: BotCalls) => it.note('bot', call, 1) }),
  ],
])('%s.flush waits for an earlier flush that is still writing', async (_name, make) => {
  const { store, finish } = slowStore()
  const counted = make(store)
  counted.use(counted as never)
  const ended: string[] = []
  const first = counted.flush().then(() => ended.push('first'))
  const second = counted.flush().then(() => ended.push('second'))
  finish()
  await Promise.all([first, second])
  await store.close()
  expect(ended).toEqual(['first', 'second'])
})
