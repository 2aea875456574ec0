import type { InputOf } from '../../contract/endpoint.js'
import { refuse } from '../../contract/errors.js'
import { contract } from '../../contract/index.js'
import * as chats from '../../store/bots/chats.js'
import { issueIntoChat } from '../../store/bots/issue.js'
import { endOlder, endPoll, holdsPoll, type OpenPoll, takePoll } from '../../store/bots/open-polls.js'
import * as updates from '../../store/delivery/updates.js'
import type { TemplateSummaries } from '../../store/template-summary.js'
import type { Deps } from '../deps.js'
import { type Call, invalid, type MakeSome, type Reply } from '../handler.js'
import type { Poll } from '../polls.js'

type GetUpdates = typeof contract.bots.updates
type GetUpdatesInput = InputOf<GetUpdates>

const LIMIT_DEFAULT = 100

/** Maximum timeout of an encrypted poll: clients of the encrypted transport wait 15 s (rules/bots.md#polling). */
const TIMEOUT_MAX_INNER_S = 10
const TOO_LONG_INSIDE = {
  pointer: '/timeout',
  code: 'maximum',
  message: `must be <= ${TIMEOUT_MAX_INNER_S} through the encrypted transport`,
}

export const botRuntimeHandlers = ((deps, { write }) => {
  const { store, clock, newId, keys, polls } = deps
  const summaries: TemplateSummaries = new Map()
  return {
    issue: (input, { caller, facts }) => {
      const voucherId = newId('vch')
      return store.write(() =>
        issueIntoChat({
          ...input,
          ...facts,
          botId: caller.botId,
          voucherId,
          newDeliveryId: () => newId('dlv'),
          now: clock.now(),
          keys,
          summaries,
        }),
      )
    },

    send: ({ chat_id: chatId, text }, { caller }) =>
      write(() => chats.sendAsBot(caller.botId, { chatId, text, now: clock.now() })),

    updates: async (input, call) => {
      if (call.isInner && (input.timeout ?? 0) > TIMEOUT_MAX_INNER_S) return invalid(TOO_LONG_INSIDE)
      const poll = polls.open(call.caller.botId)
      try {
        return await respondToPoll(deps, polls.across ? newOpenPoll(deps, input, call) : null, poll, input, call)
      } finally {
        poll.end()
      }
    },
  }
}) satisfies MakeSome<'bots'>

/** The stored row of a poll expires this long after the poll's timeout, in case the process has exited. */
const POLL_GRACE_MS = 2_000

function newOpenPoll({ random }: Deps, { timeout = 0 }: GetUpdatesInput, { caller }: Call<GetUpdates>): OpenPoll {
  const holder = Buffer.from(random(16)).toString('base64url')
  return { botId: caller.botId, holder, until: Date.now() + timeout * 1000 + POLL_GRACE_MS }
}

/** True for a poll that may wait: it found no update, was not refused, and has time left. */
const mayWait = (found: updates.PollOutcome, timeout: number): boolean =>
  !('ok' in found) && ('after' in found || found.length === 0) && timeout > 0

type Found = updates.PollOutcome | 'superseded'

/** Reads updates; if there are none, waits for a change and reads again. Opens no transaction while it waits. */
async function respondToPoll(
  { store, clock }: Deps,
  openPoll: OpenPoll | null,
  poll: Poll,
  { offset, limit = LIMIT_DEFAULT, timeout = 0, allowed_updates: allowedUpdates }: GetUpdatesInput,
  { caller: { botId, tokenId }, gone }: Call<GetUpdates>,
): Promise<Reply<GetUpdates>> {
  const { scope } = contract.bots.updates
  const deadline = performance.now() + timeout * 1000
  const read = { botId, limit }
  const left = gone()
  const from = offset === undefined || offset >= 0 ? offset : await firstOfLast(store, botId, -offset, clock.now())
  const found: Found = await store.write(function* () {
    const first = yield* updates.poll({ ...read, offset: from, allowedUpdates, now: clock.now() })
    // A newer poll of this process may have locked the queue first: this poll must not end the newer one.
    if (poll.superseded) return 'superseded' as const
    if (openPoll !== null) yield* mayWait(first, timeout) ? takePoll(openPoll) : endOlder(botId)
    return first
  })
  const holds = openPoll !== null && found !== 'superseded' && mayWait(found, timeout)
  const recheck = (after: number) =>
    store.read(function* () {
      if (holds && !(yield* holdsPoll(openPoll))) return 'superseded' as const
      return yield* updates.recheckPoll({ ...read, tokenId, scope, after, now: clock.now() })
    })
  try {
    return await replyWithin({ deadline, left }, poll, found, recheck)
  } finally {
    // End the stored poll before the response, after which the bot may set a webhook. If this write fails, it expires.
    if (holds) await store.write(() => endPoll(openPoll as OpenPoll)).catch(() => {})
  }
}

/** Waits until `recheck` finds updates, the time is over, the client disconnects, or a newer poll ends this one. */
async function replyWithin(
  { deadline, left }: { readonly deadline: number; readonly left: AbortSignal },
  poll: Poll,
  first: Found,
  recheck: (after: number) => Promise<Found>,
): Promise<Reply<GetUpdates>> {
  let found = first
  for (;;) {
    if (poll.superseded || found === 'superseded') return refuse('POLL_TERMINATED')
    if ('ok' in found) return found
    const after = 'after' in found ? found.after : 0
    if (!('after' in found)) {
      const rest = deadline - performance.now()
      if (found.length > 0 || rest <= 0) return pollResponse(found)
      const end = await poll.wait(rest, left)
      if (end === 'superseded') return refuse('POLL_TERMINATED')
      if (end !== 'changed') return pollResponse(found)
    }
    found = await recheck(after)
  }
}

/** Returns the first id of the last `count` updates, for a negative offset. Confirms no updates. */
async function firstOfLast(store: Deps['store'], botId: string, count: number, now: number): Promise<number> {
  let last: updates.LastUpdates | number = { missing: count, before: Number.MAX_SAFE_INTEGER }
  while (typeof last === 'object') {
    const from: updates.LastUpdates = last
    last = await store.read(() => updates.firstOfLast(botId, from, now))
  }
  return last
}

/** Joins the stored texts of the updates unchanged. */
function pollResponse(bodies: updates.UpdateBodies): Reply<GetUpdates> {
  return { ok: true, data: `{"items":[${bodies.join(',')}]}` }
}
