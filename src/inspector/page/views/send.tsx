import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import type { EndpointId } from '../../../contract/index.js'
import type { MadeCall } from '../../../contract/platform/acting.js'
import type { ReferenceEndpoint } from '../../../contract/platform/reference.js'
import { NO_RESPONSE, noteSession, send } from '../api.js'
import { Failed, Status, useRead } from '../components.js'
import { operatorCallOf } from '../make-call.js'
import { exampleTexts, type Field, fieldsOf, readTexts, type Texts } from '../model/call-draft.js'
import { commandOf } from '../model/copy-as.js'
import { base64Of } from '../model/edited-bytes.js'
import {
  bodyOf,
  commandLineOf,
  loggedCallOf,
  type PlannedCall,
  pathOf,
  plannedRequestOf,
} from '../model/planned-call.js'
import { readEndpoints } from '../reference.js'
import { linkTo } from '../router.js'
import { log } from '../stream.js'
import { distrust, standing } from '../trust.js'
import { CopyAs } from './copy-as.js'
import { Message } from './message.js'
import { confirm } from './state/confirm.js'

type Kind = NonNullable<PlannedCall['as']>['kind']

/** For whom the operator makes a call, by the credential of the endpoint; nobody for a call of the operator. */
const kinds: Readonly<Partial<Record<ReferenceEndpoint['caller'], Kind>>> = {
  token: 'application',
  bot: 'bot',
  jwt: 'account',
}

/** Names of fields that are no members. */
const AS = ' as'
const KEY = ' key'

/** What was typed, by endpoint: it stays while other views are visited. */
const drafts = new Map<string, Texts>()

/** A call as it was sent, with its response. */
interface SentCall {
  readonly planned: PlannedCall
  readonly status: number
  readonly headers: [name: string, value: string][]
  readonly body: { readonly code?: string; readonly requestId?: string } | null
}

interface SendProps {
  readonly endpoint: ReferenceEndpoint
  /** Members of the response, which are shown beside it. */
  readonly schema: ComponentChildren
}

/** Sends any call of the interface, with its members from a form. */
export function Send({ endpoint, schema }: SendProps) {
  const { id, path, caller, irreversible, idempotency_key: keyed } = endpoint
  const kind = kinds[caller]
  const fields = fieldsOf(endpoint)
  const [texts, setTexts] = useState<Texts>(
    () => drafts.get(id) ?? { ...exampleTexts(fields), [KEY]: keyed === 'required' ? crypto.randomUUID() : '' },
  )
  const [busy, setBusy] = useState(false)
  const [sent, setSent] = useState<SentCall>()
  const [problem, setProblem] = useState('')
  const result = useRef<HTMLDivElement>(null)
  drafts.set(id, texts)
  if (endpoint.terminal_only) return <TerminalOnly endpoint={endpoint} />
  const change = (name: string) => (value: string) =>
    setTexts((now) => {
      // With the key of the last call, another call would be refused; an unchanged one is a replay.
      const isSpent = name !== KEY && now[KEY] !== '' && now[KEY] === sent?.planned.idempotencyKey
      return { ...now, ...(isSpent && { [KEY]: crypto.randomUUID() }), [name]: value }
    })
  const run = async (event: Event) => {
    event.preventDefault()
    if (busy) return
    const read = readTexts(fields, texts)
    setProblem(read.ok ? '' : read.sentence)
    if (!read.ok) return
    const record = read.input[/:(\w+)[^:]*$/.exec(path)?.[1] ?? ''] ?? 'this server'
    const question = irreversible && `${irreversible.action} ${record}: ${irreversible.loses}`
    if (question && !(await confirm(question, 'Send'))) return
    setBusy(true)
    const made = await exchange({
      endpoint: id as EndpointId,
      input: read.input,
      ...(kind && { as: { kind, id: texts[AS] ?? '' } }),
      ...(texts[KEY] && { idempotencyKey: texts[KEY] }),
    })
    setBusy(false)
    if (typeof made === 'string') return setProblem(made)
    setSent(made)
    requestAnimationFrame(() => result.current?.focus())
  }
  return (
    <form class="panel" aria-label={`Send ${id}`} onSubmit={run} novalidate>
      <div class="filters">
        {kind && <Caller kind={kind} value={texts[AS] ?? ''} choose={change(AS)} />}
        {keyed && (
          <label>
            <span>Idempotency-Key {keyed}</span>
            {input(texts[KEY] ?? '', change(KEY))}
          </label>
        )}
        {fields.map((it) => (
          <label>
            <span>
              {it.name} {it.required && 'required'}
            </span>
            {control(it, texts[it.name] ?? '', change(it.name))}
          </label>
        ))}
      </div>
      <button class="primary" aria-busy={busy}>
        Send
      </button>
      <div role="status" tabindex={-1} ref={result}>
        {sent && <Outcome endpoint={endpoint} sent={sent} schema={schema} />}
      </div>
      {problem && <Failed failure={{ sentence: problem }} />}
    </form>
  )
}

function TerminalOnly({ endpoint }: Pick<SendProps, 'endpoint'>) {
  const fields = fieldsOf(endpoint)
  const read = readTexts(fields, exampleTexts(fields))
  const planned = { endpoint: endpoint.id as EndpointId, input: read.ok ? read.input : {} }
  return (
    <>
      <p>Only a terminal makes this call, because {endpoint.terminal_only}:</p>
      <pre tabindex={0} role="region" aria-label={`Command of ${endpoint.id}`}>
        {commandOf(plannedRequestOf(planned, endpoint))}
      </pre>
    </>
  )
}

const input = (value: string, change: (value: string) => void, more?: object) => (
  <input
    value={value}
    autocomplete="off"
    spellcheck={false}
    onInput={(event) => change(event.currentTarget.value)}
    {...more}
  />
)

function control(field: Field, value: string, change: (value: string) => void) {
  const { form, values = [], required, minimum, maximum } = field
  if (form === 'choice') return choice(required ? values : ['', ...values], value, change)
  if (form !== 'json')
    return input(value, change, form === 'number' ? { type: 'number', min: minimum, max: maximum } : {})
  const rows = Math.min(8, value.split('\n').length)
  return <textarea value={value} rows={rows} spellcheck={false} onInput={(it) => change(it.currentTarget.value)} />
}

const choice = (values: readonly string[], value: string, change: (value: string) => void, labels: Texts = {}) => (
  <select value={value} onChange={(event) => change(event.currentTarget.value)}>
    {values.map((it) => (
      <option value={it}>{it === '' ? 'not sent' : (labels[it] ?? it)}</option>
    ))}
  </select>
)

interface Owned {
  readonly id: string
  readonly name: string
  readonly account_id: string
}

interface CallerProps {
  readonly kind: Kind
  readonly value: string
  readonly choose: (id: string) => void
}

/** Records of a list; undefined until they are read. */
function useOwned(path: string): readonly Owned[] | undefined {
  const { result } = useRead<{ readonly items: readonly Owned[] }>(`${path}?limit=100`)
  return result?.ok ? result.data.items : undefined
}

/** The application, bot or account for which the call is made; an account needs no record. */
function Caller({ kind, value, choose }: CallerProps) {
  const applications = useOwned('/applications')
  const bots = useOwned('/bots')
  const own = { application: applications, bot: bots, account: applications && bots && [...applications, ...bots] }
  const owned = own[kind] ?? []
  const accounts = [...new Set([...owned.map((it) => it.account_id), 'acme'])]
  const ids = kind === 'account' ? accounts : owned.map((it) => it.id)
  const names = Object.fromEntries(owned.map(({ id, name }) => [id, `${name} ${id}`]))
  const isRead = own[kind] !== undefined
  useEffect(() => {
    if (isRead && !ids.includes(value)) choose(ids[0] ?? '')
  }, [isRead, ids.join()])
  return (
    <label>
      <span>As {kind}</span>
      {choice(ids, value, choose, names)}
    </label>
  )
}

/** Sends a call; a text says why none was sent. */
async function exchange(planned: PlannedCall): Promise<SentCall | string> {
  if (planned.as?.id === '') return `This server has no ${planned.as.kind} yet.`
  if (standing.value !== 'own') return NO_RESPONSE
  const read = await readEndpoints()
  if (!read.ok) return read.sentence
  const call = operatorCallOf(planned)
  const endpoint = read.data.get(call.endpoint)
  if (endpoint === undefined) return `The server does not have ${call.endpoint}.`
  try {
    const response = await send(pathOf(call, endpoint), endpoint.method, bodyOf(call, endpoint))
    noteSession(response)
    const body = await response.json().catch(() => null)
    if (!planned.as || !body?.success) return { planned, status: response.status, headers: [...response.headers], body }
    const made = body.data as MadeCall
    return { planned, status: made.status, headers: [], body: made.body }
  } catch {
    void distrust()
    return NO_RESPONSE
  }
}

/** Headers that tell something about the call. */
const telling = /^(idempotent-replayed|ratelimit.*|retry-after|www-authenticate)$/i

interface OutcomeProps extends SendProps {
  readonly sent: SentCall
}

function Outcome({ endpoint, sent: { planned, status, headers, body }, schema }: OutcomeProps) {
  const id = body?.requestId ?? ''
  const line = log.request(id)?.line
  const exchanged = line?.kind === 'request' ? line.exchange?.response?.headers : undefined
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  const message = { body: base64Of(bytes), body_bytes: bytes.length }
  const call = { ...loggedCallOf(endpoint), status, code: body?.code ?? null, ...(line && { request_id: id }) }
  return (
    <>
      <p class="actions">
        <Status status={status} /> {body?.code && <span class="code">{body.code}</span>}
        {line ? <a href={linkTo(['requests', id])}>{id}</a> : <code>{id}</code>}
      </p>
      <CopyAs call={call} request={plannedRequestOf(planned, endpoint)} command={commandLineOf(planned, endpoint)} />
      <div class="pair">
        <Message
          title="Response"
          message={{ ...message, headers: (exchanged ?? headers).filter(([name]) => telling.test(name)) }}
        />
        <section>
          <h2>Members of data</h2>
          {schema}
        </section>
      </div>
    </>
  )
}
