import type { ComponentChildren } from 'preact'
import { useRef, useState } from 'preact/hooks'
import type { EndpointId } from '../../../contract/index.js'
import type { ReferenceEndpoint } from '../../../contract/platform/reference.js'
import type { Received } from '../api.js'
import { type Choices, Failed, Status } from '../components.js'
import { sendCall } from '../make-call.js'
import { type Field, memberFields, readInput } from '../model/call-draft.js'
import { commandOf } from '../model/copy-as.js'
import { base64Of } from '../model/edited-bytes.js'
import { commandLineOf, loggedCallOf, type PlannedCall, plannedRequestOf } from '../model/planned-call.js'
import { useNamed } from '../name.js'
import { linkTo } from '../router.js'
import { log } from '../stream.js'
import { fieldsOf } from './actions.js'
import { CopyAs } from './copy-as.js'
import { Message } from './message.js'
import { confirm } from './state/confirm.js'

/** For whom the operator makes a call, by the credential of the endpoint; for nobody a call of the operator API. */
const kinds = { token: 'application', bot: 'bot', jwt: 'account', operator: undefined } as const

/** Names of the fields that are no members. */
const AS = ' as'
const KEY = ' key'

/** What was typed, by endpoint: it stays while other views are visited. */
const drafts = new Map<string, Readonly<Record<string, string>>>()

/** A call as it was sent, with its response. */
type Sent = Received & { readonly planned: PlannedCall }

interface SendProps {
  readonly endpoint: ReferenceEndpoint
  /** Members of the response, which are shown beside it. */
  readonly schema: ComponentChildren
}

/** Sends any call of the interface, with its members from a form. */
export function Send({ endpoint, schema }: SendProps) {
  const { id, path, caller, irreversible, idempotency_key: keyed } = endpoint
  const kind = kinds[caller]
  const callers = useCallers(kind)
  const fields: Readonly<Record<string, Field>> = {
    ...(kind && { [AS]: { label: `As ${kind}`, options: callers, value: callers[0]?.[0] ?? '' } }),
    ...(keyed && { [KEY]: { label: `Idempotency-Key ${keyed}` } }),
    ...memberFields(endpoint),
  }
  const [texts, setTexts] = useState(() => drafts.get(id) ?? { [KEY]: keyed === 'required' ? crypto.randomUUID() : '' })
  const [busy, setBusy] = useState(false)
  const [sent, setSent] = useState<Sent>()
  const [problem, setProblem] = useState('')
  const result = useRef<HTMLDivElement>(null)
  drafts.set(id, texts)
  const textOf = (name: string) => texts[name] ?? String(fields[name]?.value ?? '')
  const input = readInput(endpoint, textOf)
  const change = (name: string, text: string) => {
    // With the key of the last call, another call would be refused; an unchanged one is a replay.
    const isSpent = name !== KEY && sent !== undefined && texts[KEY] === sent.planned.idempotencyKey
    setTexts({ ...texts, ...(isSpent && { [KEY]: crypto.randomUUID() }), [name]: text })
  }
  const run = async (event: Event) => {
    event.preventDefault()
    const wrong = kind && !textOf(AS) ? `This server has no ${kind} yet.` : typeof input === 'string' ? input : ''
    setProblem(wrong)
    if (busy || wrong || typeof input === 'string') return
    const record = input[/:(\w+)[^:]*$/.exec(path)?.[1] ?? ''] ?? 'this server'
    if (irreversible && !(await confirm(`${irreversible.action} ${record}: ${irreversible.loses}`, 'Send'))) return
    setBusy(true)
    const planned: PlannedCall = {
      ...{ endpoint: id as EndpointId, input },
      ...(kind && { as: { kind, id: textOf(AS) } }),
      ...(texts[KEY] && { idempotencyKey: texts[KEY] }),
    }
    const made = await sendCall(planned)
    setBusy(false)
    if (!made.ok) return setProblem(made.sentence)
    setSent({ ...made.data, planned })
    requestAnimationFrame(() => result.current?.focus())
  }
  if (endpoint.terminal_only)
    return (
      <p>
        Only a terminal makes this call, because {endpoint.terminal_only}:{' '}
        <code>{commandOf(plannedRequestOf({ endpoint: id as EndpointId, input: Object(input) }, endpoint))}</code>
      </p>
    )
  return (
    <form class="panel" aria-label={`Send ${id}`} onSubmit={run} novalidate>
      <div class="filters">{fieldsOf(fields, textOf, change)}</div>
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

/** Applications, bots or accounts, as choices. An account needs no record. */
function useCallers(kind: (typeof kinds)[keyof typeof kinds]): Choices {
  const applications = useNamed('applications') ?? []
  const bots = useNamed('bots') ?? []
  const accounts = [...applications, ...bots].map((it) => it.account_id)
  if (kind === 'account') return [...new Set([...accounts, 'acme'])].map((it) => [it, it])
  return (kind === 'bot' ? bots : applications).map(({ id, name }) => [id, `${name} ${id}`])
}

/** Headers that tell something about the call. */
const telling = /^(idempotent-replayed|ratelimit.*|retry-after|www-authenticate)$/i

function Outcome({ endpoint, sent: { planned, status, headers, body }, schema }: SendProps & { readonly sent: Sent }) {
  const id = body?.requestId ?? ''
  const code = body && !body.success ? body.code : null
  const line = log.request(id)?.line
  const exchanged = line?.kind === 'request' ? line.exchange?.response?.headers : undefined
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  const message = { body: base64Of(bytes), body_bytes: bytes.length }
  const call = { ...loggedCallOf(endpoint), status, code, ...(line && { request_id: id }) }
  return (
    <>
      <p class="actions">
        <Status status={status} /> {code && <span class="code">{code}</span>}
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
