import { pathToFileURL } from 'node:url'
import {
  CODE,
  CONNECTIONS,
  issueRequests,
  prepareApplication,
  redeemPath,
  request,
  requireWhole,
  startLoad,
  verifyPath,
  withCode,
} from '../calls.js'
import { bundle, startServer, targetOf, withProcesses } from '../processes.js'
import { rowOf } from '../report.js'
import { alternate } from '../rounds.js'

/**
 * P5 to P8: CPU time of issue, verify, encrypted verify and redeem calls in the server and in the floor; beside it, the
 * rates of the server and of a Fastify hello.
 */
export function measureThroughput({ rounds, count, profile, say }) {
  return withProcesses(async ({ folder, start }) => {
    const { openSession } = await import(pathToFileURL(await bundle('sealer.js')))
    const server = await startServer(start, folder, { profile })
    const floor = start(await bundle('floor-plus.js'), [folder])
    const hello = start(await bundle('reference.js'))
    const { baseUrl: floorUrl, ...floorApplication } = await floor.nextMessage()
    const helloTarget = targetOf(hello, await hello.nextMessage())
    const application = await prepareApplication(server)
    const load = startLoad(start)

    /** Issues vouchers and uses each in the other calls. */
    const measureCalls = async (prefix, target, url, { token, templateId }, round) => {
      const samples = {}
      const measure = async (name, requests, capture) => {
        const { captured, sample } = await load(target, requests, { count, capture })
        samples[`${prefix}${name}`] = sample
        return captured
      }
      const codes = await measure('issue', issueRequests({ token, templateId }, `${round}`, count), CODE)
      await measure(
        'verify',
        codes.map((code) => request(verifyPath, token, withCode(code))),
      )
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
      const inner = codes.map((code) => ({
        method: 'POST',
        path: verifyPath,
        headers,
        body: JSON.stringify(withCode(code)),
      }))
      // Encrypt the requests right before they are sent: the server accepts an envelope once, within a minute.
      await measure('encrypted', inner.map(await openSession(url, inner[0])))
      await measure(
        'redeem',
        codes.map((code, n) => request(redeemPath, token, withCode(code), `redeem-${round}-${n}`)),
      )
      return samples
    }
    const helloRequests = [request(verifyPath, application.token, withCode('M9S3-46Q3-D25V-T4FJ'))]
    const middle = await alternate({ rounds, say }, (round) => [
      async () => ({ hello: (await load(helloTarget, helloRequests, { count })).sample }),
      () => measureCalls('floor ', targetOf(floor, { baseUrl: floorUrl }), floorUrl, floorApplication, round),
      () => measureCalls('', server, server.baseUrl, application, round),
    ])
    await requireWhole(server, application, (rounds + 1) * count)

    const rows = (id, call, name, target) => {
      const what = `${call}, ${CONNECTIONS} connections`
      const cpu = { value: middle(name, 'cpu'), reference: middle(`floor ${name}`, 'cpu'), against: 'floor', target }
      const rate = { value: middle(name), reference: middle('hello'), against: 'a Fastify hello' }
      return [
        rowOf({ id, what: `${what}: CPU time`, ...cpu, unit: 'us' }),
        rowOf({ id, what, ...rate, unit: 'requests/s' }),
      ]
    }
    return [
      ...rows('P5', 'verify', 'verify', 1.25),
      ...rows('P6', 'redeem, durable', 'redeem', 1.3),
      ...rows('P7', 'issue, one template, durable', 'issue', 1.3),
      ...rows('P8', 'verify through encrypted dispatch', 'encrypted', 1.3),
    ]
  })
}
