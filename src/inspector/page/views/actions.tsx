import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import type { Result } from '../api.js'
import { Failed } from '../components.js'
import type { PlannedCall as Planned } from '../model/planned-call.js'
import { makeCall } from './make-call.js'
import { PlannedCall } from './planned-call.js'

export interface Action {
  readonly label: string
  /** Why the action cannot be done now, as a sentence in place of the form. */
  readonly refusal?: string | false | null
  readonly form: () => ComponentChildren
}

interface ActionsProps {
  /** Name of the object, for screen readers. */
  readonly of: string
  readonly actions: readonly Action[]
}

/** Buttons of which each opens the form of its action. */
export function Actions({ of, actions }: ActionsProps) {
  // Keeps the action as it was when it opened: afterwards, a redemption that was reversed is none to reverse.
  const [open, setOpen] = useState<Action>()
  return (
    <section aria-label={`Actions on ${of}`} class="does">
      <p class="actions">
        {actions.map((it) => (
          <button
            type="button"
            aria-expanded={it.label === open?.label}
            onClick={() => setOpen(it.label === open?.label ? undefined : it)}
          >
            {it.label} …
          </button>
        ))}
      </p>
      {open && <div key={open.label}>{open.refusal ? <p class="panel">{open.refusal}</p> : open.form()}</div>}
    </section>
  )
}

interface ActionFormProps<Data> {
  /** Calls that the form makes one after the other until one is refused. */
  readonly calls: readonly Planned[]
  /** Label of the button that makes them. */
  readonly label: string
  /** Shows what was done. */
  readonly outcome: (made: readonly Data[]) => ComponentChildren
  /** Runs after the calls, also after a refused one. */
  readonly done?: () => void
  /** Fields of the call. */
  readonly children?: ComponentChildren
}

/** Form of an action: its fields, the call that a program would make, and the result in place. */
export function ActionForm<Data>({ calls, label, outcome, done, children }: ActionFormProps<Data>) {
  const [busy, setBusy] = useState(false)
  const [made, setMade] = useState<readonly Data[]>([])
  const [refusal, setRefusal] = useState<Result<Data>>()
  const run = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    const results: Data[] = []
    let failed: Result<Data> | undefined
    for (const planned of calls) {
      const result = await makeCall<Data>(planned)
      if (!result.ok) failed = result
      else results.push(result.data)
      if (failed) break
      setMade([...results])
    }
    setMade(results)
    setRefusal(failed)
    setBusy(false)
    done?.()
  }
  const [first] = calls
  return (
    <form class="panel" onSubmit={run}>
      {children}
      {first && <PlannedCall planned={first} open />}
      {calls.length > 1 && <p class="quiet">And {calls.length - 1} more like it.</p>}
      <button class="primary" disabled={busy}>
        {label}
      </button>
      <div role="status">{made.length > 0 && outcome(made)}</div>
      {refusal && !refusal.ok && <Failed failure={refusal} />}
    </form>
  )
}

interface FieldProps {
  readonly label: string
  readonly value: string
  readonly onValue: (value: string) => void
  readonly required?: boolean
  readonly placeholder?: string
}

export function Field({ label, value, onValue, ...more }: FieldProps) {
  return (
    <label>
      <span>{label}</span>
      <input value={value} autocomplete="off" {...more} onInput={(event) => onValue(event.currentTarget.value)} />
    </label>
  )
}

/** A value that is unique enough for an id of a test, such as `order-k3x9f2`. */
export const uniqueId = (prefix: string): string => `${prefix}-${crypto.randomUUID().slice(0, 6)}`
