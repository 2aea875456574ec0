import { contract } from '../../../contract/index.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { noWebhook, removeWebhook, sameBot, setWebhook } from './hook.js'

const POLL_SECONDS = 2
/** Ms after which the platform holds a poll. */
const BEGUN_MS = 400

/** Responses to calls that set a webhook during a held poll: one with a valid URL, one with a URL to refuse. */
export const polled = (run: ProbeContext): Promise<{ readonly goodUrl: Observed; readonly badUrl: Observed }> =>
  run.resources.once('polled', async () => {
    await sameBot(run)
    const own = await noWebhook(run)
    let isOver = false
    const poll = run.call(contract.bots.updates, { timeout: POLL_SECONDS }).finally(() => {
      isOver = true
    })
    // Handle the rejection here: if a call below fails, nobody awaits the poll.
    poll.catch(() => {})
    await run.resources.pause(BEGUN_MS)
    const badUrl = await setWebhook(run, { url: 'http://hooks.conform.example/x' })
    const goodUrl = await setWebhook(run)
    const isHeld = !isOver
    if (goodUrl.isSuccess) await removeWebhook(run, own.botId, true)
    // A newer poll ends the held one.
    await run.call(contract.bots.updates, {})
    await poll
    return !isHeld ? run.notApplicable('Needs a poll that the platform holds.') : { goodUrl, badUrl }
  })
