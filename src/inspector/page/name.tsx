import { useEffect } from 'preact/hooks'
import { call } from './api.js'
import { linkTo } from './router.js'
import { signal } from './signal.js'
import { features } from './state.js'

/** Ms to collect changes before the names are read again. */
const PAUSE_MS = 300

/** Lists of the operator API with the names of their items, each by id. */
const lists = { application: 'applications', bot: 'bots', template: 'templates' } as const

interface Named {
  readonly id: string
  readonly name: string
}

const names = signal<ReadonlyMap<string, string>>(new Map())
/** Ids that a reading did not find: they are not looked for again until a name changes. */
const missed = new Set<string>()
let timer: ReturnType<typeof setTimeout> | undefined

/** Reads the names again, after a change of an application, a bot or a template. */
export function readNames(): void {
  missed.clear()
  if (timer !== undefined) return
  timer = setTimeout(async () => {
    timer = undefined
    const reads = Object.values(lists).map((it) => call<{ items: readonly Named[] }>('GET', `/${it}?limit=100`))
    const found = (await Promise.all(reads)).flatMap((it) => (it.ok ? it.data.items : []))
    if (found.length > 0) names.value = new Map(found.map(({ id, name }) => [id, name]))
  }, PAUSE_MS)
}

interface NameProps {
  readonly kind: keyof typeof lists
  readonly id: string
  /** Target of the link; null for none. By default the page of the object. */
  readonly to?: string | null
}

const linkOf = (kind: NameProps['kind'], id: string) =>
  kind === 'application' ? linkTo([], { application: id }) : linkTo([`${kind}s`, id])

/** Name of an application, a bot or a template, with its id beside it. */
export function Name({ kind, id, to = linkOf(kind, id) }: NameProps) {
  const name = names.value.get(id)
  useEffect(() => {
    if (name !== undefined || missed.has(id) || features.value?.source !== 'server') return
    readNames()
    missed.add(id)
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
