import { useLayoutEffect, useState } from 'preact/hooks'
import { NO_RESPONSE } from './api.js'
import { signal } from './signal.js'
import { announce } from './state.js'
import { loadFile, standing } from './trust.js'
import type { NamedView, Palette } from './views/palette.js'

/** Loaded when the user looks for something for the first time. */
const palette = signal<typeof Palette | null>(null)

/** Button and keys of every view that open the palette. */
export function FindField({ views }: { readonly views: readonly NamedView[] }) {
  const [open, setOpen] = useState(false)
  const show = async () => {
    // Loading would wait until the server is back.
    if (standing.value === 'own')
      palette.value ??= (await loadFile(() => import('./views/palette.js')))?.Palette ?? null
    if (palette.value) setOpen(true)
    else announce(NO_RESPONSE)
  }
  useLayoutEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isField = (event.target as Element).matches('input, select, textarea')
      const isSlash = event.key === '/' && !isField && !event.ctrlKey && !event.metaKey && !event.altKey
      const isK = event.key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey)
      if ((!isSlash && !isK) || document.querySelector('dialog[open]')) return
      event.preventDefault()
      void show()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <>
      <button type="button" class="find" aria-haspopup="dialog" onClick={show}>
        Find <kbd>Ctrl K</kbd>
      </button>
      {open && palette.value && <palette.value views={views} close={() => setOpen(false)} />}
    </>
  )
}
