import { useEffect } from 'preact/hooks'
import type { Planted } from '../../contract/platform/acting.js'
import { useNamed } from './name.js'
import { signal } from './signal.js'
import { stateNumber } from './state.js'
import { loadFile } from './trust.js'
import type { Example } from './views/example.js'

/** The file of the offer, which is loaded for a server without an application. */
const file = signal<typeof Example | null>(null)

/** What this tab has planted; kept while the user visits other views, because tokens are shown only once. */
const planted = signal<Planted | null>(null)

/** Number of the state in which the user closed the offer. */
let closed: number | undefined

function plant(it: Planted): void {
  planted.value = it
}

function close(): void {
  closed = stateNumber()
  planted.value = null
}

async function loadExample(): Promise<void> {
  file.value ??= (await loadFile(() => import('./views/example.js')))?.Example ?? null
}

/** Offers the example to an empty server. @param when true if the view around it shows nothing */
export function ExampleOffer({ when }: { readonly when: boolean }) {
  const applications = useNamed('applications')
  const [shop] = planted.value?.applications ?? []
  // Its tokens are valid as long as the application exists, also after a restore.
  const isPlanted = shop !== undefined && applications?.some(({ id }) => id === shop.id)
  const isShown = isPlanted || (when && applications?.length === 0 && closed !== stateNumber())
  useEffect(() => {
    if (isShown) void loadExample()
  }, [isShown])
  const View = file.value
  return View && isShown ? <View planted={isPlanted ? planted.value : null} plant={plant} close={close} /> : null
}
