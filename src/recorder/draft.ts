import { Converter, type DraftStep, isSuccess } from './convert.js'
import { eachNew, eachText, ID, type InPieces, type RecordedCall, type RecordedEvent } from './events.js'
import { approvesAtOnce } from './preparation.js'

export interface ScenarioDraft {
  readonly autoApprove: boolean
  /** Responses of the receiver, as `webhook.respond`. */
  readonly respond: string | undefined
  readonly steps: readonly DraftStep[]
  /** Reasons after the last step. */
  readonly comments: readonly string[]
}

/** Makes the steps of a scenario. @param startedAt time of the server before the first event, if it is known */
export async function draftOf(
  prepared: readonly RecordedCall[],
  events: readonly RecordedEvent[],
  startedAt: string | undefined,
  inPieces: InPieces,
): Promise<ScenarioDraft> {
  const converter = new Converter([...prepared, ...events])
  for await (const it of inPieces(prepared)) converter.call(it)
  let now = startedAt
  for await (const event of inPieces(await inOrder(events, inPieces))) {
    if (event.kind === 'attempt') converter.receive(event)
    else if (event.kind === 'call') convert(event, now, converter)
    else if (event.kind !== 'other') converter.note(event.text)
    if ('at' in event) now = event.at
  }
  return { ...converter.result, autoApprove: approvesAtOnce(events) }
}

/** @param now time of the server before the call */
function convert(call: RecordedCall, now: string | undefined, converter: Converter): void {
  const { target, input, at } = call
  if (target === 'platform.advanceClock' && isSuccess(call)) converter.advance(Number(input.seconds))
  else if (target !== 'platform.setClock' || !isSuccess(call)) converter.call(call)
  else if (now === undefined) converter.note(`${target} at ${at}: the server no longer has the time before it.`)
  else converter.advance((Date.parse(String(input.now)) - Date.parse(now)) / 1000)
}

/** Number of lines by which an attempt may precede the call that caused it. */
const EARLY_MAX = 5

/** Moves attempts behind the calls that created their records. */
async function inOrder(events: readonly RecordedEvent[], inPieces: InPieces): Promise<RecordedEvent[]> {
  const ordered = [...events]
  for await (const event of inPieces(events)) {
    if (event.kind !== 'attempt') continue
    const ids = new Set<string>()
    eachText(event.body, (it) => ID.test(it) && ids.add(it))
    const from = ordered.indexOf(event)
    const causes = ordered.slice(from, from + EARLY_MAX).map((it) => {
      let isCause = false
      if (it.kind === 'call') eachNew(it, (text) => (isCause ||= ids.has(text)))
      return isCause
    })
    const to = from + causes.lastIndexOf(true)
    if (to > from) ordered.splice(to, 0, ...ordered.splice(from, 1))
  }
  return ordered
}
