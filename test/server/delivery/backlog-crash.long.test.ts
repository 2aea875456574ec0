import { expect, it } from 'vitest'
import { crashInBacklog } from './backlog-crash-run.js'

it('server killed during background changes of backlog rows completes them after a restart', async () => {
  await expect(crashInBacklog()).resolves.toBeUndefined()
}, 90_000)
