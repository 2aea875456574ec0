import { useEffect } from 'preact/hooks'
import { read } from './api.js'
import { linkOf } from './linked.js'
import { signal } from './signal.js'
import { features } from './state.js'

/** Ms to collect changes before the names are read again. */
const PAUSE_MS = 50

/** Lists of the operator API with the names of their items. */
const lists = ['applications', 'bots', 'templates']

interface Named {
  readonly id: string
  readonly name: string
}

const names = signal<ReadonlyMap<string, string>>(new Map())
/** Ids that were looked for. The lists are not read again for one that they do not have. */
const wanted = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Reads the names again after a change, if any is shown. */
export function refreshNames(): void {
  if (wanted.size > 0) readNames()
}

function readNames(): void {
  if (timer !== undefined) return
  timer = setTimeout(async () => {
    timer = undefined
    const reads = lists.map((it) => read<{ items: readonly Named[] }>(`/${it}?limit=100`))
    const found = (await Promise.all(reads)).flatMap((it) => (it.ok ? it.data.items : []))
    if (found.length > 0) names.value = new Map(found.map(({ id, name }) => [id, name]))
  }, PAUSE_MS)
}

/** Name of an application, a bot or a template; its id while the name is unknown. */
export const nameOf = (id: string): string => names.value.get(id) ?? id

interface NameProps {
  readonly id: string
  /** Target of the link; null for none. By default the page of the record. */
  readonly to?: string | null | undefined
}

/** Name of an application, a bot or a template, with its id beside it. */
export function Name({ id, to = linkOf(id) }: NameProps) {
  const name = names.value.get(id)
  useEffect(() => {
    if (name !== undefined || wanted.has(id) || features.value?.source !== 'server') return
    readNames()
    wanted.add(id)
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
