import { asMembers } from '../secure/json.js'
import { pointerTo } from './placeholders.js'
import type { RecordedResponse } from './recording.js'
import type { WireResponse } from './wire.js'

/** Where a replayed response differs from the recorded one. */
export interface ResponseDifference {
  /** `status`, the name of a header, or a JSON pointer to a member; `*` stands for the items of a list. */
  readonly at: string
  /** Status, type or value; null if there is none. */
  readonly recorded: string | null
  readonly replayed: string | null
}

/** Members whose values are words of the interface. Other values belong to one platform: their types are compared. */
const wordMembers = new Set([
  'success',
  'code',
  'retryable',
  'status',
  'reason',
  'redeemable',
  'review_status',
  'delivery_mode',
])

interface RequestKind {
  /** The request is about an object that the user named, of which each platform has its own. */
  readonly namesOffer: boolean
  /** The request names an object of the run: a list has this object, and not those that were there before. */
  readonly namesOwn: boolean
}

export function compareResponses(
  recorded: RecordedResponse,
  replayed: Pick<WireResponse, 'status' | 'headers' | 'json'>,
  { namesOffer, namesOwn }: RequestKind,
): ResponseDifference[] {
  const found: ResponseDifference[] = []
  if (recorded.status !== replayed.status) {
    found.push({
      at: 'status',
      recorded: inWords(recorded.status, recorded.body),
      replayed: inWords(replayed.status, replayed.json),
    })
    // A success and a refusal have nothing else in common.
    if (isSuccess(recorded) !== isSuccess(replayed)) return found
  }
  compareHeaders(recorded.headers, replayed.headers, found)
  compare([recorded.body], [replayed.json], {
    at: '',
    member: '',
    found,
    ignoresNull: namesOffer,
    itemsFit: namesOwn,
    isItem: false,
  })
  return found
}

const isSuccess = ({ status }: { readonly status: number }) => status >= 200 && status <= 299

function inWords(status: number, body: unknown): string {
  const code = asMembers(body)?.code
  return typeof code === 'string' ? `${status} ${code}` : String(status)
}

type Headers = Readonly<Record<string, string>>

function compareHeaders(recorded: Headers, replayed: Headers, found: ResponseDifference[]): void {
  const values: Readonly<Record<string, (headers: Headers) => string | null>> = {
    'content-type': (it) => it['content-type']?.split(';')[0]?.trim().toLowerCase() ?? null,
    'idempotent-replayed': (it) => it['idempotent-replayed']?.toLowerCase() ?? null,
    'retry-after': (it) => (it['retry-after'] === undefined ? null : 'present'),
  }
  for (const [at, valueOf] of Object.entries(values)) {
    const pair = { recorded: valueOf(recorded), replayed: valueOf(replayed) }
    if (pair.recorded !== pair.replayed) found.push({ at, ...pair })
  }
}

interface Place {
  readonly at: string
  readonly member: string
  readonly found: ResponseDifference[]
  /** True if null is ignored when types are compared: these objects may differ in optional members. */
  readonly ignoresNull: boolean
  /** Whether the items of lists are of the same objects. */
  readonly itemsFit: boolean
  readonly isItem: boolean
}

/** Compares values at the same place: one each, or those of all items of two lists. */
function compare(recorded: readonly unknown[], replayed: readonly unknown[], place: Place): void {
  const { at, member, found } = place
  if (recorded.length === 0 || replayed.length === 0) return
  const isPair = recorded.length === 1 && replayed.length === 1
  const [types, replayedTypes] = [typesOf(recorded, place.ignoresNull), typesOf(replayed, place.ignoresNull)]
  if (types.length > 0 && replayedTypes.length > 0 && !types.some((it) => replayedTypes.includes(it))) {
    found.push({ at, recorded: types.join(' or '), replayed: replayedTypes.join(' or ') })
    return
  }
  const isSameObject = isPair && (!place.isItem || place.itemsFit)
  if (isSameObject && wordMembers.has(member) && recorded[0] !== replayed[0] && typeof recorded[0] !== 'object') {
    found.push({ at, recorded: String(recorded[0]), replayed: String(replayed[0]) })
  }
  const lists: [unknown[], unknown[]] = [itemsOf(recorded), itemsOf(replayed)]
  compare(...lists, { ...place, at: pointerTo(at, '*'), member: '', ignoresNull: true, isItem: true })
  // Counters such as by_status have a member for each value that was counted.
  if (member.startsWith('by_')) return
  compareMembers(objectsOf(recorded), objectsOf(replayed), place)
}

type Objects = readonly Readonly<Record<string, unknown>>[]

function compareMembers(recorded: Objects, replayed: Objects, place: Place): void {
  if (recorded.length === 0 || replayed.length === 0) return
  for (const member of new Set([...recorded, ...replayed].flatMap(Object.keys))) {
    const at = pointerTo(place.at, member)
    const [before, after] = [valuesOf(recorded, member), valuesOf(replayed, member)]
    if (before.length === recorded.length && after.length === 0) {
      place.found.push({ at, recorded: typesOf(before).join(' or '), replayed: null })
    } else if (before.length === 0 && after.length === replayed.length) {
      place.found.push({ at, recorded: null, replayed: typesOf(after).join(' or ') })
    } else {
      compare(before, after, { ...place, at, member })
    }
  }
}

const itemsOf = (values: readonly unknown[]): unknown[] => values.filter(Array.isArray).flat()

const objectsOf = (values: readonly unknown[]): Objects => values.map(asMembers).filter((it) => it !== undefined)

const valuesOf = (objects: Objects, member: string) =>
  objects.filter((it) => Object.hasOwn(it, member)).map((it) => it[member])

function typesOf(values: readonly unknown[], isWithoutNull = false): string[] {
  const types = new Set(values.map(typeOf))
  if (isWithoutNull) types.delete('null')
  return [...types].sort()
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (value === undefined) return 'no JSON'
  if (Array.isArray(value)) return 'list'
  return typeof value
}
