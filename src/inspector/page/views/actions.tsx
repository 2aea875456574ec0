import type { ComponentChildren } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ReferenceEndpoint } from '../../../contract/platform/reference.js'
import { Failed, optionsOf } from '../components.js'
import { makeCall } from '../make-call.js'
import type { Field } from '../model/call-draft.js'
import {
  bodyOf,
  commandLineOf,
  filled,
  loggedCallOf,
  type PlannedCall,
  plannedRequestOf,
} from '../model/planned-call.js'
import { useEndpoints } from '../reference.js'
import { CopyAs } from './copy-as.js'

type Values = Readonly<Record<string, string>>

/** Something that the user can do: its fields, the calls that it makes, and what it shows afterwards. */
export interface Action {
  readonly label: string
  /** Why it cannot be done now, as a sentence. */
  readonly refusal?: string | false | null
  readonly note?: string
  /** True for an effect beyond the object, which a click alone does not cause: the form opens first. */
  readonly asks?: true
  readonly fields?: Readonly<Record<string, Field>>
  calls(values: Values, idempotencyKey: string): readonly PlannedCall[]
  /** @param values with which the calls were made */
  outcome?(made: readonly unknown[], values: Values): ComponentChildren
  /** What the user can do about a refusal, as a sentence. */
  advise?(code: string | undefined, values: Values): string | false
}

interface ActionsProps {
  /** Name of the object, for screen readers. */
  readonly of: string
  readonly actions: readonly Action[]
  readonly done: () => void
}

/** True for an action that needs no more than a click. */
const isAtOnce = ({ fields, asks }: Action) => fields === undefined && !asks

/** Buttons of which each opens the form of its action, or does it at once if there is nothing to fill in. */
export function Actions({ of, actions, done }: ActionsProps) {
  const [chosen, setOpen] = useState<Action>()
  const isOpen = ({ label }: Action) => label === chosen?.label
  // A form stays as it was when it opened: what it has done may make it impossible to do again.
  const open = chosen?.refusal ? actions.find(isOpen) : chosen
  return (
    <section aria-label={`Actions on ${of}`} class="does">
      <p class="actions">
        {actions.map((it) => (
          <button type="button" aria-expanded={isOpen(it)} onClick={() => setOpen(isOpen(it) ? undefined : it)}>
            {it.label}
            {isAtOnce(it) ? '' : ' …'}
          </button>
        ))}
      </p>
      {open?.refusal && <p class="panel">{open.refusal}</p>}
      {open && !open.refusal && <ActionForm key={open.label} action={open} done={done} opens />}
    </section>
  )
}

interface ActionFormProps {
  readonly action: Action
  /** Runs after the calls, with what they returned until one was refused. */
  done?(made: readonly unknown[]): void
  /** Shows the call only on a click, and the button beside the fields. */
  readonly compact?: true
  /** True for a form that the user has just opened: it gets the focus, and does at once what needs no field. */
  readonly opens?: true
}

const initial = ({ value = '' }: Field) => (typeof value === 'string' ? value : value())

/** Form of an action: its result, its fields, and the call that a program would make. */
export function ActionForm({ action, done, compact, opens }: ActionFormProps) {
  const { label, note, fields = {}, calls, outcome, advise } = action
  const form = useRef<HTMLFormElement>(null)
  const result = useRef<HTMLDivElement>(null)
  const start = () => Object.fromEntries(Object.entries(fields).map(([name, it]) => [name, initial(it)]))
  const [values, setValues] = useState<Values>(start)
  const [key, setKey] = useState(() => crypto.randomUUID())
  const [busy, setBusy] = useState(false)
  const [made, setMade] = useState<readonly unknown[]>([])
  const [sent, setSent] = useState(values)
  const [refusal, setRefusal] = useState('')
  const planned = calls(values, key).map(filled)
  const run = async (event?: Event) => {
    event?.preventDefault()
    // The button is not disabled meanwhile, because it would lose the focus.
    if (busy) return
    setBusy(true)
    setMade([])
    setRefusal('')
    const results: unknown[] = []
    for (const it of planned) {
      const result = await makeCall(it)
      if (!result.ok) setRefusal(`${result.sentence} ${advise?.(result.code, values) || ''}`)
      if (!result.ok) break
      results.push(result.data)
      setMade([...results])
      setSent(values)
    }
    setBusy(false)
    // A changed call after a refusal needs another key, too.
    setKey(crypto.randomUUID())
    for (const [name, it] of Object.entries(fields)) {
      // Keep what the user has typed meanwhile.
      const renew = (now: Values) => (now[name] === values[name] ? { ...now, [name]: initial(it) } : now)
      if (results.length > 0 && typeof it.value === 'function') setValues(renew)
    }
    done?.(results)
    // Above the fields, in sight, and read by a screen reader.
    if (!compact) requestAnimationFrame(() => result.current?.focus())
  }
  // Not after the frame: the user may type at once.
  useLayoutEffect(() => {
    if (!opens) return
    if (isAtOnce(action)) return void run()
    form.current?.querySelector('button.primary')?.scrollIntoView({ block: 'nearest' })
    form.current?.querySelector<HTMLElement>('input, select, textarea, button')?.focus()
  }, [])
  const change = (name: string, text: string) => setValues((now) => ({ ...now, [name]: text }))
  const button = (
    <button class="primary" aria-busy={busy}>
      {label}
      {opens && isAtOnce(action) ? ' again' : ''}
    </button>
  )
  const results = (
    <div role="status" tabindex={-1} ref={result}>
      {made.length > 0 && outcome?.(made, sent)}
      {refusal && Failed({ failure: { sentence: refusal } })}
    </div>
  )
  return (
    <form class="panel" onSubmit={run} ref={form}>
      {!compact && results}
      {note && <p>{note}</p>}
      <div class="filters">
        {fieldsOf(fields, (name) => values[name] ?? '', change)}
        {compact && button}
      </div>
      {compact ? results : button}
      {planned[0] && <Preview planned={planned[0]} open={!compact} />}
      {planned.length > 1 && <p class="quiet">And {planned.length - 1} more like it.</p>}
    </form>
  )
}

/** Fields with their labels. */
export const fieldsOf = (
  fields: Readonly<Record<string, Field>>,
  textOf: (name: string) => string,
  change: (name: string, text: string) => void,
) =>
  Object.entries(fields).map(([name, it]) => (
    <label>
      <span>{it.label}</span>
      {control(it, textOf(name), (event) => change(name, (event.currentTarget as HTMLInputElement).value))}
    </label>
  ))

function control(
  { options, lines, optional, placeholder, isNumber }: Field,
  value: string,
  onInput: (event: Event) => void,
) {
  const common = { value, placeholder, required: !optional, onInput }
  if (options) return <select {...{ value, onInput }}>{optionsOf(options)}</select>
  if (!lines) return <input {...common} {...(isNumber && { type: 'number' })} autocomplete="off" />
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
    event.preventDefault()
    ;(event.currentTarget as HTMLTextAreaElement).form?.requestSubmit()
  }
  return <textarea {...common} rows={2} onKeyDown={onKeyDown}></textarea>
}

/** The call that a program would make, before it is made. */
function Preview({ planned, open }: { readonly planned: PlannedCall; readonly open: boolean }) {
  const endpoint = useEndpoints()?.get(planned.endpoint)
  return (
    <details class="planned" open={open}>
      <summary>
        The call <code>{planned.endpoint}</code>
      </summary>
      {endpoint && written(planned, endpoint)}
    </details>
  )
}

function written(planned: PlannedCall, endpoint: ReferenceEndpoint) {
  const request = plannedRequestOf(planned, endpoint)
  const key = planned.idempotencyKey ? `\nIdempotency-Key: ${planned.idempotencyKey}` : ''
  const body = request.body === null ? '' : `\n\n${JSON.stringify(bodyOf(planned, endpoint), null, 2)}`
  return (
    <>
      <pre tabindex={0} role="region" aria-label="The call that a program makes">
        {`${request.method} ${request.url}${key}${body}`}
      </pre>
      <CopyAs call={loggedCallOf(endpoint)} request={request} command={commandLineOf(planned, endpoint)} />
    </>
  )
}

/** A value that is unique enough for an id of a test, such as `order-3fa9c2`. */
export const uniqueId = (prefix: string): string => `${prefix}-${crypto.randomUUID().slice(0, 6)}`

/** Actions that approve or reject a template or a bot. */
export const decisionsOn = (kind: 'template' | 'bot', id: string): readonly Action[] => {
  const [of, name] = kind === 'template' ? (['Template', 'templateId'] as const) : (['Bot', 'botId'] as const)
  const reason = { label: 'Reason', placeholder: 'Say what it is' }
  return [
    {
      label: 'Approve',
      calls: () => [{ endpoint: `platform.approve${of}`, input: { [name]: id } }],
      outcome: () => 'Approved.',
    },
    {
      label: 'Reject',
      fields:
        kind === 'template' ? { code: { label: 'Code', placeholder: 'unclear_terms' }, reason } : { note: reason },
      calls: (values) => [{ endpoint: `platform.reject${of}`, input: { [name]: id, ...values } }],
      outcome: () => 'Rejected.',
    },
  ]
}
