import { contract } from '../../../contract/index.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { noWebhook, removeWebhook, sameBot, setWebhook } from './hook.js'

const POLL_SECONDS = 2
/** The platform has begun to hold a poll by then. */
const BEGUN_MS = 400

/** Responses to calls that set a webhook while a poll is held: one with a valid URL, one with a URL to refuse. */
export const polled = (run: ProbeContext): Promise<{ readonly goodUrl: Observed; readonly badUrl: Observed }> =>
  run.resources.once('polled', async () => {
    await sameBot(run)
    const own = await noWebhook(run)
    let isOver = false
    const poll = run.call(contract.bots.updates, { timeout: POLL_SECONDS }).finally(() => {
      isOver = true
    })
    // If a call below fails, nobody waits for the poll.
    poll.catch(() => {})
    await run.resources.pause(BEGUN_MS)
    const badUrl = await setWebhook(run, { url: 'http://hooks.conform.example/x' })
    const goodUrl = await setWebhook(run)
    const isHeld = !isOver
    if (goodUrl.isSuccess) await removeWebhook(run, own.botId, true)
    // A newer poll ends the one that is held.
    await run.call(contract.bots.updates, {})
    await poll
    return !isHeld ? run.notApplicable('Needs a poll that the platform holds.') : { goodUrl, badUrl }
  })
