import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { buildPackage } from '../../support/build/bundle.js'
import { issueCode, prepareApplication, request, startLoad, verifyPath, withCode } from '../calls.js'
import { program, root, startServer, withProcesses } from '../processes.js'
import { budgetRow, rowOf } from '../report.js'
import { alternate } from '../rounds.js'

/** What the first view loads; the other files are views. */
const FIRST = ['index.html', 'icon.svg', 'app.css', 'app.js']
const FIRST_VIEW_KB_MAX = 25
const PAGE_KB_MAX = 60
/** Vouchers that the measured calls verify, each several times. */
const VOUCHERS = 500
const PAUSE_MS = 500

/** P16: size of the page, compressed, and verify calls while a follower reads the activity with bodies. */
export async function measurePage(options) {
  buildPackage()
  const folder = join(root, 'dist/inspector')
  const kilobytes = (names) =>
    names.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0) / 1e3
  return [
    budgetRow('P16', 'the first view, each file with gzip', kilobytes(FIRST), FIRST_VIEW_KB_MAX, 'kB'),
    budgetRow('P16', 'all views, each file with gzip', kilobytes(readdirSync(folder)), PAGE_KB_MAX, 'kB'),
    await measureFollowed(options),
  ]
}

function measureFollowed({ rounds, count, say }) {
  return withProcesses(async ({ folder, start }) => {
    const server = await startServer(start, folder)
    const follower = start(program('follower.js'))
    const application = await prepareApplication(server)
    const verifies = []
    for (let n = 0; n < VOUCHERS; n++) {
      const code = await issueCode(server, application, `order-${n}`)
      verifies.push(request(verifyPath, application.token, withCode(code)))
    }
    const load = startLoad(start)
    const measured = async (name) => {
      // Both begin after the same pause: a server that was just busy is slower.
      await wait(PAUSE_MS)
      return { [name]: (await load(server, verifies, { count })).sample }
    }
    const activity = `${server.baseUrl}/_platform/v1/activity?follow=true&bodies=true`
    const middle = await alternate({ rounds, say }, () => [
      () => measured('closed'),
      async () => {
        await follower.ask({ url: activity, token: server.operatorKey })
        const samples = await measured('open')
        const { lines } = await follower.ask(null)
        if (lines === 0) throw new Error('the follower read no activity')
        return samples
      },
    ])
    const rates = { value: middle('open'), reference: middle('closed'), target: 0.97, unit: 'requests/s' }
    return rowOf({ id: 'P16', what: 'verify, with a page open', ...rates, against: 'without' })
  })
}
