import { useEffect, useRef } from 'preact/hooks'
import type { Entry } from './model/activity-log.js'
import { log } from './stream.js'

/** Pause between two reads of a view while much happens. */
const PAUSE_MS = 100

/** Calls `reload` when the stream shows something new that a view is about. */
export function useActivity(about: (entry: Entry) => boolean, reload: () => void): void {
  // The operator's own calls, such as those of this page, change nothing that it shows.
  const latest = log.entries.findLast((it) => !it.type.startsWith('platform.') && about(it))?.key
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
