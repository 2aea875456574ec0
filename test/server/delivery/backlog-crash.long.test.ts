import { expect, it } from 'vitest'
import { crashInBacklog } from './backlog-crash-run.js'

it('5 kills while a backlog is settled leave every call as if it had settled all of it', async () => {
  await expect(crashInBacklog()).resolves.toBeUndefined()
}, 90_000)
