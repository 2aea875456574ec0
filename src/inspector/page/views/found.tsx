import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { type Result, read } from '../api.js'
import { Failed, Loading } from '../components.js'
import { changed } from '../state.js'

/** Pages of 100 items in which an item is looked for. */
const PAGES_MAX = 20

async function findIn<Item extends { readonly id: string }>(list: string, id: string): Promise<Result<Item>> {
  for (let page = 1; page <= PAGES_MAX; page++) {
    const result = await read<{ items: readonly Item[] }>(`/${list}?limit=100&page=${page}`)
    if (!result.ok) return result
    const found = result.data.items.find((it) => it.id === id)
    if (found) return { ok: true, data: found }
    if (result.data.items.length < 100) break
  }
  return { ok: false, sentence: `Nothing here has the id ${id}.` }
}

interface FoundProps<Item> {
  readonly list: string
  readonly id: string
  /** Reads the item again when it changes. */
  readonly version?: string | undefined
  readonly view: (item: Item, reload: () => void) => ComponentChildren
}

/** Renders an item of a list of the operator API that has no endpoint for one item. */
export function Found<Item extends { readonly id: string }>({ list, id, version, view }: FoundProps<Item>) {
  const [found, setFound] = useState<Result<Item>>()
  const [round, setRound] = useState(0)
  useEffect(() => {
    let current = true
    void findIn<Item>(list, id).then((it) => current && setFound(it))
    return () => {
      current = false
    }
  }, [list, id, version, round, changed.value])
  if (found === undefined) return Loading()
  return found.ok ? view(found.data, () => setRound(round + 1)) : Failed({ failure: found })
}
