import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { OutputOf } from '../../../contract/endpoint.js'
import type { EndpointId } from '../../../contract/index.js'
import type { platformActing } from '../../../contract/platform/acting.js'
import type { ReferenceEndpoint } from '../../../contract/platform/reference.js'
import { linkOf } from '../linked.js'
import { makeCall } from '../make-call.js'
import type { Entry } from '../model/activity-log.js'
import { findInLog } from '../model/find-in-log.js'
import { dateTime } from '../model/format.js'
import { startRecording } from '../recording-choice.js'
import { useEndpoints } from '../reference.js'
import { BASE, linkTo, visit } from '../router.js'
import { features } from '../state.js'
import { log } from '../stream.js'
import { entryLink } from '../stream-view.js'

/** A view of the navigation. */
export interface NamedView {
  readonly path: string
  readonly nav?: string
}

interface Option {
  readonly kind: string
  readonly name: string
  readonly detail?: string | null
  readonly open: () => unknown
}

interface Found {
  /** What was searched. */
  readonly text: string
  readonly options: readonly Option[]
  /** Why records are missing. */
  readonly note?: string | null
}

const nothing: Found = { text: '', options: [] }

/** Ms after the last key before the server searches. */
const TYPING_MS = 150
/** Maximum entries of the log: the stream filters for more. */
const ENTRIES_MAX = 30

/** Finds views, actions, records and entries of the log. Its text may be a code, so no address has it. */
export function Palette({ views, close }: { readonly views: readonly NamedView[]; readonly close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const list = useRef<HTMLUListElement>(null)
  const [text, setText] = useState('')
  const [found, setFound] = useState(nothing)
  const [chosen, setChosen] = useState(0)
  const search = useRef<Promise<Found>>(Promise.resolve(found))
  const named = namedBy(text, [...views.map(viewOption), ...actionOptions(useEndpoints(), text)])
  const options = [...named, ...found.options]
  useLayoutEffect(() => dialog.current?.showModal(), [])
  useLayoutEffect(() => list.current?.children[chosen]?.scrollIntoView({ block: 'nearest' }), [chosen])
  const type = (typed: string) => {
    setText(typed)
    setChosen(0)
    const mine: Promise<Found> = new Promise((resolve) => setTimeout(resolve, TYPING_MS)).then(() =>
      search.current === mine ? find(typed.trim()) : nothing,
    )
    search.current = mine
    void mine.then((it) => search.current === mine && setFound(it))
  }
  const open = (option: Option | undefined) => {
    if (option === undefined) return
    // Returns the focus, which the view that opens then takes.
    dialog.current?.close()
    close()
    option.open()
  }
  const onKeyDown = async (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    if (step !== undefined) setChosen((chosen + step + options.length) % (options.length || 1))
    else if (event.key !== 'Enter' || event.isComposing) return
    // A key may come before the result of the search.
    else if (chosen < named.length) open(named[chosen])
    else open((await search.current).options[chosen - named.length])
    event.preventDefault()
  }
  return (
    // A removed dialog tells late that it was closed, when the next one may be open.
    <dialog class="palette" aria-label="Find" ref={dialog} onClose={() => dialog.current && close()} closedby="any">
      <input
        role="combobox"
        aria-label="Find"
        aria-expanded={options.length > 0}
        aria-controls="found"
        aria-activedescendant={options[chosen] && `found-${chosen}`}
        placeholder="View, action, code, id, name or word"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <ul id="found" role="listbox" aria-label="Found" ref={list}>
        {options.map((it, index) => (
          <li id={`found-${index}`} role="option" aria-selected={index === chosen} onClick={() => open(it)}>
            <span>
              {it.name} <small class="quiet">{it.detail}</small>
            </span>
            <small class="quiet">{it.kind}</small>
          </li>
        ))}
      </ul>
      <p role="status" class="quiet">
        {found.text !== text.trim() && 'Searching …'}
        {found.text === text.trim() && options.length === 0 && 'Nothing has this text. '}
        {found.note}
      </p>
    </dialog>
  )
}

/** Options that have all words of a text. */
function namedBy(text: string, options: readonly Option[]): readonly Option[] {
  const words = text.toLowerCase().split(/\s+/)
  return options.filter(({ kind, name, detail }) =>
    words.every((it) => `${kind} ${name} ${detail}`.toLowerCase().includes(it)),
  )
}

const viewOption = ({ path, nav = '' }: NamedView) => ({ kind: 'View', name: nav, open: () => visit(BASE + path) })

/** Views of the page in which the user does what an endpoint does. */
const homes: Readonly<Record<string, string>> = {
  'platform.advanceClock': 'clock',
  'platform.setClock': 'clock',
  'platform.addFault': 'faults',
  'platform.saveSnapshot': 'state',
  'platform.restoreSnapshot': 'state',
  'platform.removeSnapshot': 'state',
  'platform.reset': 'state',
  // The stream of an empty server offers it.
  'platform.seedStore': '',
}

/** Endpoints that need no input and lose nothing. */
const direct = ['platform.clearFaults', 'platform.releaseCalls']

/** What the user can do: each endpoint that changes something; without a text, only what is done on one key. */
function actionOptions(endpoints: ReturnType<typeof useEndpoints>, text: string): readonly Option[] {
  if (features.value?.source !== 'server') return []
  const record = { kind: 'Action', name: 'Record a scenario', open: () => visit(linkTo([])) ?? startRecording() }
  const all = [...(endpoints?.values() ?? [])].filter((it) => it.method !== 'GET')
  return [record, ...all.filter(({ id }) => text !== '' || direct.includes(id) || id in homes).map(actionOf)]
}

function actionOf({ id, summary }: ReferenceEndpoint): Option {
  const home = homes[id]
  const isDirect = direct.includes(id)
  const open = () => {
    if (isDirect) void makeCall({ endpoint: id as EndpointId, input: {} }, `${summary}: done.`)
    else visit(home !== undefined ? linkTo([home]) : linkTo(['reference'], { find: id }))
  }
  return { kind: isDirect || home !== undefined ? 'Action' : 'Send', name: summary, detail: id, open }
}

/** Finds records by what the server knows, and entries of the log by a word. */
async function find(text: string): Promise<Found> {
  if (text === '') return nothing
  const entries = findInLog(log.entries, text).slice(0, ENTRIES_MAX).map(entryOption)
  if (features.value?.source !== 'server') return { text, options: entries }
  const records = await makeCall<OutputOf<typeof platformActing.find>>({ endpoint: 'platform.find', input: { text } })
  if (!records.ok) return { text, options: entries, note: records.sentence }
  const { items, note } = records.data
  const found = items.map(({ kind, id, name, detail }): Option => {
    return {
      kind,
      name: name ?? id,
      detail: [name && id, detail].filter(Boolean).join(' · '),
      open: () => visit(linkOf(id) ?? linkTo([])),
    }
  })
  return { text, options: [...found, ...entries], note }
}

const entryOption = (it: Entry): Option => ({
  kind: it.kind === 'request' ? 'call' : it.kind,
  name: it.type,
  detail: [it.status ?? 'no response', it.code, dateTime(it.at)].filter(Boolean).join(' · '),
  open: () => visit(entryLink(it)),
})
