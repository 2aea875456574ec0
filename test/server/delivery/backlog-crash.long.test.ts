import { expect, it } from 'vitest'
import { crashInBacklog } from './backlog-crash-run.js'

it('server that is killed during changes of backlog rows completes them after its restart', async () => {
  await expect(crashInBacklog()).resolves.toBeUndefined()
}, 90_000)
