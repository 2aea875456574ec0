import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { StateChange } from '../../contract/platform/activity.js'
import { type Failure, type Result, read } from './api.js'
import { Linked } from './linked.js'
import type { Entry } from './model/activity-log.js'
import { dateTime, relative } from './model/format.js'
import { currentIf, place, setFilter } from './router.js'
import { announce, changed, stateNumber, useServerNow } from './state.js'
import { log } from './stream.js'
import { proofs } from './trust.js'

/** Ms between two reads of a view during many changes. */
const PAUSE_MS = 100

export interface Column<Row> {
  readonly head: string
  readonly cell: (row: Row) => ComponentChildren
  /** `wide` hides the column in a narrow pane; `number` aligns it to the right. */
  readonly look?: 'wide' | 'number'
  /** Value of the query member `sort` for which the server sorts by this column. */
  readonly sort?: string
}

interface TableProps<Row> {
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  /** Text in place of a table without rows. */
  readonly empty?: ComponentChildren
  /** Address of the detail of a row: the row whose detail is open is marked. */
  readonly linkOf?: (row: Row) => string
}

export function Table<Row>({ caption, columns, rows, keyOf, empty, linkOf }: TableProps<Row>) {
  if (rows.length === 0) return <p class="empty">{empty}</p>
  return (
    <div class="scroll">
      <table>
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) =>
              column.sort ? (
                <SortHead {...column} newest={columns.find((it) => it.sort?.endsWith('_at'))?.sort} />
              ) : (
                <th scope="col" class={column.look}>
                  {column.head}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} aria-current={linkOf && currentIf(linkOf(row))}>
              {columns.map((column) => (
                <td class={column.look}>{column.cell(row)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface SortHeadProps extends Pick<Column<never>, 'head' | 'look' | 'sort'> {
  /** Column by which the list is sorted without a query, the newest first. */
  readonly newest: string | undefined
}

/** Head that sorts a list: a time begins with the newest, a text with the first of the alphabet. */
function SortHead({ head, look, sort = '', newest }: SortHeadProps) {
  const up = { value: sort, order: 'ascending', mark: '↑' } as const
  const down = { value: `-${sort}`, order: 'descending', mark: '↓' } as const
  const [first, second] = sort.endsWith('_at') ? [down, up] : [up, down]
  const sorted = place.value.query.get('sort') ?? `-${newest}`
  const now = [up, down].find((it) => it.value === sorted)
  return (
    <th scope="col" class={look} aria-sort={now?.order}>
      <button type="button" onClick={() => setFilter('sort', (now === first ? second : first).value)}>
        {head} <span aria-hidden="true">{now?.mark}</span>
      </button>
    </th>
  )
}

/** List of names with values; omits null values. */
export function KeyValue({ items }: { readonly items: readonly (readonly [string, ComponentChildren])[] }) {
  const shown = items.filter(([, value]) => value !== null && value !== undefined)
  return (
    <dl>
      {shown.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{typeof value === 'string' ? <Linked text={value} /> : value}</dd>
        </div>
      ))}
    </dl>
  )
}

/** An instant in UTC, with its distance from the server's time. */
export function Time({ at }: { readonly at: string }) {
  return (
    <time datetime={at} title={at}>
      <span>{dateTime(at)}</span> <Distance at={at} />
    </time>
  )
}

const Distance = ({ at }: { readonly at: string }) => <span class="quiet">{relative(at, useServerNow())}</span>

/** Ms after the last key before the text of a field applies. */
const TYPING_MS = 200

interface TextFilterProps {
  /** Query member that the field sets. */
  readonly name: string
  readonly label: string
}

/** Visit at which the shown list was opened. */
const listVisit = () => place.value.list?.at ?? place.value.at

/** A field that filters a list. It owns its text: what a user types stays, whatever the page renders meanwhile. */
export function TextFilter({ name, label }: TextFilterProps) {
  const value = place.value.query.get(name) ?? ''
  const field = useRef<HTMLInputElement>(null)
  const applied = useRef(value)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  const list = useRef(listVisit())
  const apply = () => {
    clearTimeout(timer.current)
    // A field with the focus reports its change when it leaves the document with its list.
    if (listVisit() !== list.current) return
    applied.current = field.current?.value.trim() ?? ''
    if (applied.current !== (place.value.query.get(name) ?? '')) setFilter(name, applied.current)
  }
  const wait = () => {
    clearTimeout(timer.current)
    timer.current = setTimeout(apply, TYPING_MS)
  }
  // Another source changed the filter, such as a link or `Show all`.
  useEffect(() => {
    if (value === applied.current || !field.current) return
    applied.current = value
    field.current.value = value
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  return (
    <label>
      <span>{label}</span>
      <input
        type="search"
        id={`filter-${name}`}
        ref={field}
        defaultValue={value}
        autocomplete="off"
        onInput={wait}
        onChange={apply}
      />
    </label>
  )
}

export type Choices = readonly (readonly [value: string, label: string])[]

/** Options of a select field. */
export const optionsOf = (choices: Choices) =>
  choices.map(([it, label]) => (
    <option key={it} value={it}>
      {label}
    </option>
  ))

interface SelectFilterProps extends TextFilterProps {
  readonly choices: Choices
}

/** A field that filters a list by one of its choices, or by another value that the address has. */
export function SelectFilter({ name, label, choices }: SelectFilterProps) {
  const own = place.value.query.get(name) ?? ''
  const all: Choices = [['', 'All'], ...choices]
  return (
    <label>
      <span>{label}</span>
      <select value={own} onChange={(event) => setFilter(name, event.currentTarget.value)}>
        {optionsOf(all.some(([it]) => it === own) ? all : [...all, [own, own]])}
      </select>
    </label>
  )
}

export type Tone = 'good' | 'warn' | 'bad' | 'note' | 'plain'

export function Badge({ tone, children }: { readonly tone: Tone; readonly children?: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>
}

/** Marks what a planted fault affected, so that nobody takes its effect for an error of the server. */
export function PlantedFault({ kind }: { readonly kind: string | undefined }) {
  return kind ? <Badge tone="warn">planted fault: {kind}</Badge> : null
}

/** Tone of an HTTP status; null means that no response arrived. */
const toneOf = (status: number | null): Tone =>
  status === null || status >= 500 ? 'bad' : status >= 400 ? 'warn' : 'good'

export function Status({ status }: { readonly status: number | null }) {
  return <Badge tone={toneOf(status)}>{status ?? 'no response'}</Badge>
}

export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    announce('Copied.')
  } catch {
    announce('Copying failed: select the text.')
  }
}

export function Copy({ text, label = 'Copy' }: { readonly text: string | (() => string); readonly label?: string }) {
  return (
    <button type="button" class="small" onClick={() => copyText(typeof text === 'string' ? text : text())}>
      {label}
    </button>
  )
}

/** A text for a terminal or an app, with a button that copies it. */
export const Copied = ({ text }: { readonly text: string }) => (
  <>
    <code>{text}</code> <Copy text={text} />
  </>
)

export const Loading = () => (
  <p class="empty" aria-busy="true">
    Loading …
  </p>
)

export function Failed({ failure, retry }: { readonly failure: Failure; readonly retry?: () => void }) {
  return (
    <div class="failure" role="alert">
      <p>
        <Linked text={failure.sentence} />
      </p>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Reads an endpoint at first display, when the path changes, and after each change of `on` or of the whole state. */
export function useRead<Data>(path: string, on: readonly StateChange[] = []) {
  const [state, setState] = useState<{ readonly path: string; readonly result: Result<Data> }>()
  const [round, setRound] = useState(0)
  const again = [stateNumber(), ...on.map((what) => changed.value[what])].join()
  useEffect(() => {
    let current = true
    void read<Data>(path).then((result) => current && setState({ path, result }))
    return () => {
      current = false
    }
  }, [path, round, again, proofs.value])
  const reload = () => setRound((it) => it + 1)
  // While another query loads, show what the previous one returned: the focus and the position stay.
  const isSameList = state?.path.split('?')[0] === path.split('?')[0]
  return { result: isSameList ? state?.result : undefined, reload }
}

interface LoadedProps<Data> {
  readonly path: string
  readonly on?: readonly StateChange[]
  /** Selects the stream entries after which the data is read again. */
  readonly about?: (entry: Entry) => boolean
  /** Heading until the data, which has the heading of the view, is there. */
  readonly heading?: string
  readonly view: (data: Data, reload: () => void) => ComponentChildren
}

/** Renders the data of an endpoint with `view`; before that a loading text, or the reason of a failure. */
export function Loaded<Data>({ path, on, about = () => false, heading, view }: LoadedProps<Data>) {
  const { result, reload } = useRead<Data>(path, on)
  useActivity(about, reload)
  if (result?.ok) return view(result.data, reload)
  const isGone = result?.code?.endsWith('_NOT_FOUND')
  return (
    <>
      {heading && <Heading>{heading}</Heading>}
      {result ? <Failed failure={result} {...(!isGone && { retry: reload })} /> : <Loading />}
    </>
  )
}

interface HeadingProps {
  readonly children?: ComponentChildren
  readonly more?: ComponentChildren
}

/** Heading of a view; gets the focus when the view opens. */
export function Heading({ children, more }: HeadingProps) {
  return (
    <div class="heading">
      <h1 tabindex={-1}>{children}</h1>
      {more}
    </div>
  )
}

/** Calls `reload` after a new stream entry that concerns a view. */
function useActivity(about: (entry: Entry) => boolean, reload: () => void): void {
  const latest = log.entries.findLast(about)?.key
  const shown = useRef<string | undefined>(latest)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    if (shown.current === latest) return
    shown.current = latest
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      reload()
    }, PAUSE_MS)
  }, [latest])
}
