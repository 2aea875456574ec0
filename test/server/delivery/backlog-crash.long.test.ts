import { expect, it } from 'vitest'
import { crashInBacklog } from './backlog-crash-run.js'

it('5 kills while a backlog is settled leave the same state as if each call had settled it', async () => {
  await expect(crashInBacklog()).resolves.toBeUndefined()
}, 90_000)
