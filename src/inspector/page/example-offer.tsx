import type { VNode } from 'preact'
import { useEffect } from 'preact/hooks'
import { call } from './api.js'
import { signal } from './signal.js'
import { features } from './state.js'
import { loadFile } from './trust.js'

/** The offer, which is loaded for a server without an application, and stays until the user closes it. */
const offer = signal<((props: { readonly close: () => void }) => VNode) | null>(null)

function close(): void {
  offer.value = null
}

async function offerExample(): Promise<void> {
  const read = await call<{ pagination: { total: number } }>('GET', '/applications?limit=1')
  if (!read.ok || read.data.pagination.total > 0) return
  const loaded = await loadFile(() => import('./views/example.js'))
  if (loaded) offer.value = loaded.Example
}

/** Offers the example to an empty server. @param when true if the view around it shows nothing */
export function ExampleOffer({ when }: { readonly when: boolean }) {
  const asks = when && features.value?.source === 'server'
  useEffect(() => {
    if (asks && !offer.value) void offerExample()
  }, [asks])
  const Example = offer.value
  return Example && <Example close={close} />
}
