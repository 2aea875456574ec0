import { useRef } from 'preact/hooks'
import { NO_RESPONSE } from './api.js'
import { FIND } from './keys.js'
import { announce } from './state.js'
import { loadFile } from './trust.js'

/** Field of every view that finds a record, or words in a kept body. Its text may be a code, so no address has it. */
export function FindField() {
  const field = useRef<HTMLInputElement>(null)
  const find = async (event: Event) => {
    event.preventDefault()
    const text = field.current?.value.trim() ?? ''
    if (text === '') return
    const view = await loadFile(() => import('./views/find.js'))
    if (view === null) announce(NO_RESPONSE)
    else if (await view.find(text)) field.current?.blur()
  }
  return (
    <form class="find" role="search" aria-label="Every view" onSubmit={find}>
      <input
        id={FIND}
        ref={field}
        type="search"
        aria-label="Find"
        placeholder="Find code, id, name, word"
        autocomplete="off"
        spellcheck={false}
      />
    </form>
  )
}
