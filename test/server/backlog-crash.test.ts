import { expect, it } from 'vitest'
import { crashInBacklog } from './backlog-crash-run.js'

it('kill -9 while a backlog is settled leaves every call as if it had settled all of it', async () => {
  await expect(crashInBacklog(['delete', 'confirm'])).resolves.toBeUndefined()
}, 60_000)
