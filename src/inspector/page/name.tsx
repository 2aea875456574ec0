import { useEffect } from 'preact/hooks'
import { read } from './api.js'
import { linkTo } from './router.js'
import { signal } from './signal.js'
import { features } from './state.js'

/** Ms to collect changes before the names are read again. */
const PAUSE_MS = 50

/** Lists of the operator API with the names of their items, each by id. */
const lists = { application: 'applications', bot: 'bots', template: 'templates' } as const

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
    const reads = Object.values(lists).map((it) => read<{ items: readonly Named[] }>(`/${it}?limit=100`))
    const found = (await Promise.all(reads)).flatMap((it) => (it.ok ? it.data.items : []))
    if (found.length > 0) names.value = new Map(found.map(({ id, name }) => [id, name]))
  }, PAUSE_MS)
}

/** Lists of the page with the kinds of records that have their own view. */
const views = { ...lists, voucher: 'vouchers', chat: 'chats', delivery: 'deliveries' } as const

/** Address of a record; an application has no view, so that its calls are shown. */
export const linkOf = (kind: keyof typeof views, id: string): string =>
  kind === 'application' ? linkTo([], { application: id }) : linkTo([views[kind], id])

/** Name of an application, a bot or a template; its id while the name is unknown. */
export const nameOf = (id: string): string => names.value.get(id) ?? id

interface NameProps {
  readonly kind: keyof typeof lists
  readonly id: string
  /** Target of the link; null for none. By default the page of the record. */
  readonly to?: string | null
}

/** Name of an application, a bot or a template, with its id beside it. */
export function Name({ kind, id, to = linkOf(kind, id) }: NameProps) {
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
  return to === null ? shown : <a href={to}>{shown}</a>
}
