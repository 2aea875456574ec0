import { contract } from '../../../contract/index.js'
import type { Observed, ProbeContext } from '../../probe-context.js'
import { noWebhook, removeWebhook, sameBot, setWebhook } from './hook.js'

const POLL_SECONDS = 2
/** The platform has begun to hold a poll by then. */
const BEGUN_MS = 400

/** Responses to calls that set a webhook while a poll is held: one with a valid URL, one with a URL to refuse. */
export const polled = (it: ProbeContext): Promise<{ readonly goodUrl: Observed; readonly badUrl: Observed }> =>
  it.resources.once('polled', async () => {
    await sameBot(it)
    const own = await noWebhook(it)
    let isOver = false
    const poll = it.call(contract.bots.updates, { timeout: POLL_SECONDS }).finally(() => {
      isOver = true
    })
    // If a call below fails, nobody waits for the poll.
    poll.catch(() => {})
    await it.resources.pause(BEGUN_MS)
    const badUrl = await setWebhook(it, { url: 'http://hooks.conform.example/x' })
    const goodUrl = await setWebhook(it)
    const isHeld = !isOver
    if (goodUrl.isSuccess) await removeWebhook(it, own.botId, true)
    // A newer poll ends the one that is held.
    await it.call(contract.bots.updates, {})
    await poll
    return !isHeld ? it.notApplicable('Needs a poll that the platform holds.') : { goodUrl, badUrl }
  })
