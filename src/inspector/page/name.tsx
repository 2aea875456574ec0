import { useEffect } from 'preact/hooks'
import { read } from './api.js'
import { linkOf } from './linked.js'
import { signal } from './signal.js'
import { features } from './state.js'

/** Ms to collect changes before the names are read again. */
const PAUSE_MS = 50

/** Lists of the operator API with records that have a name. */
const lists = ['applications', 'bots', 'templates'] as const

interface Named {
  readonly id: string
  readonly name: string
  readonly account_id: string
}

const named = signal<readonly (readonly Named[])[]>([])
const names = signal<ReadonlyMap<string, string>>(new Map())
/** Ids and lists that were looked for. The lists are not read again for an id that they do not have. */
const wanted = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

function want(what: string): void {
  if (wanted.has(what) || features.value?.source !== 'server') return
  readNames()
  wanted.add(what)
}

/** Reads the names again after a change, if any is shown. */
export function refreshNames(): void {
  if (wanted.size > 0) readNames()
}

function readNames(): void {
  if (timer !== undefined) return
  timer = setTimeout(async () => {
    timer = undefined
    const reads = lists.map((it) => read<{ items: readonly Named[] }>(`/${it}?limit=100`))
    const found = (await Promise.all(reads)).flatMap((it) => (it.ok ? [it.data.items] : []))
    if (found.length < lists.length) return
    named.value = found
    names.value = new Map(found.flat().map(({ id, name }) => [id, name]))
  }, PAUSE_MS)
}

/** Name of an application, a bot or a template; its id while the name is unknown. */
export const nameOf = (id: string): string => names.value.get(id) ?? id

/** The newest applications, bots or templates; undefined until they have been read. */
export function useNamed(list: (typeof lists)[number]): readonly Named[] | undefined {
  useEffect(() => want(list), [])
  return named.value[lists.indexOf(list)]
}

/**
 * Name of an application, a bot or a template, with its id beside it.
 * @param to target of the link, null for none; by default the page of the record
 */
export function Name({ id, to = linkOf(id) }: { readonly id: string; readonly to?: string | null | undefined }) {
  const name = names.value.get(id)
  useEffect(() => {
    if (name === undefined) want(id)
  }, [id, name])
  const shown =
    name === undefined ? (
      <span class="id">{id}</span>
    ) : (
      <>
        {name} <small class="id quiet">{id}</small>
      </>
    )
  return to ? <a href={to}>{shown}</a> : shown
}
