import { expect, it } from 'vitest'
import { crashInBacklog } from './backlog-crash-run.js'

it('server killed while it changes backlog rows in the background completes them after start', async () => {
  await expect(crashInBacklog()).resolves.toBeUndefined()
}, 90_000)
