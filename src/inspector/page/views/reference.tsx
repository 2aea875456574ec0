import { useState } from 'preact/hooks'
import type { Reference, ReferenceEndpoint, ReferenceMember } from '../../../contract/platform/reference.js'
import { type Column, Copy, Heading, Loaded, Table, TextFilter } from '../components.js'
import type { ViewProps } from '../router.js'

/** Every endpoint of the interface, from the contract; the same as `voucherctl server openapi --html`. */
export function ReferenceView({ query }: ViewProps) {
  return (
    <article>
      <Heading>Reference</Heading>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <TextFilter name="find" label="Endpoint, path, scope, member or failure code" />
      </form>
      <Loaded path="/reference" view={(it: Reference) => <Groups reference={it} find={query.get('find') ?? ''} />} />
    </article>
  )
}

function Groups({ reference: { groups, failures }, find }: { readonly reference: Reference; readonly find: string }) {
  const words = find.toLowerCase().split(/\s+/)
  const isFound = ({ example, ...described }: ReferenceEndpoint) => {
    const text = JSON.stringify(described).toLowerCase()
    return words.every((it) => text.includes(it))
  }
  const found = groups.map((it) => ({ ...it, endpoints: it.endpoints.filter(isFound) }))
  const shown = found.filter((it) => it.endpoints.length > 0)
  const isSingle = shown.length === 1 && shown[0]?.endpoints.length === 1
  if (shown.length === 0) return <p class="empty">No endpoint has all of these words.</p>
  return (
    <>
      {shown.map(({ name, description, endpoints }) => (
        <section key={name}>
          <h2>
            {name} <small class="quiet">{description}</small>
          </h2>
          {endpoints.map((it) => (
            <Endpoint key={`${it.id} ${isSingle}`} endpoint={it} failures={failures} isOpen={isSingle} />
          ))}
        </section>
      ))}
    </>
  )
}

interface EndpointProps {
  readonly endpoint: ReferenceEndpoint
  readonly failures: Reference['failures']
  readonly isOpen: boolean
}

function Endpoint({ endpoint, failures, isOpen }: EndpointProps) {
  const [open, setOpen] = useState(isOpen)
  const { method, path, summary } = endpoint
  return (
    <details class="endpoint" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>
          <b>{method}</b> {path}
        </code>{' '}
        <span class="quiet">{summary}</span>
      </summary>
      {/* The tables of all endpoints would be thousands of rows. */}
      {open && <Description {...endpoint} all={failures} />}
    </details>
  )
}

const columns: readonly Column<ReferenceMember>[] = [
  {
    head: 'Member',
    cell: (it) => (
      <>
        <code>{it.name}</code> {it.required && <small class="quiet">required</small>}
      </>
    ),
  },
  { head: 'Type', cell: (it) => <code>{it.type}</code> },
  { head: 'Rule', cell: (it) => it.description },
]

const failureColumns: readonly Column<Reference['failures'][number]>[] = [
  { head: 'Failure', cell: (it) => <code>{it.code}</code> },
  { head: 'Status', cell: (it) => it.status },
  { head: 'Meaning and fix', cell: (it) => `${it.message} ${it.fix}` },
]

function Description({ all, ...endpoint }: ReferenceEndpoint & { readonly all: Reference['failures'] }) {
  const { id, caller, scope, idempotency_key, params, query, body, failures, status, example } = endpoint
  const parts = { Path: params, Query: query, Body: body }
  return (
    <>
      <p>
        <code>{id}</code>: credential <code>{caller}</code>
        {scope && (
          <>
            , scope <code>{scope}</code>
          </>
        )}
        {idempotency_key && `, Idempotency-Key ${idempotency_key}`}
      </p>
      {Object.entries(parts).map(
        ([title, members]) =>
          members.length > 0 && (
            <section key={title}>
              <h3>{title}</h3>
              <Table caption={`${title} of ${id}`} columns={columns} rows={members} keyOf={(it) => it.name} />
            </section>
          ),
      )}
      <Code title="curl" id={id} text={example.curl} />
      <Code title="Client library" id={id} text={example.client} />
      <details>
        <summary>Response {status}</summary>
        <Code title="data" id={id} text={example.response} />
      </details>
      <details>
        <summary>
          {failures.length} failures: {failures.slice(0, 3).join(', ')} …
        </summary>
        <Table
          caption={`Failures of ${id}`}
          columns={failureColumns}
          rows={failures.flatMap((code) => all.filter((it) => it.code === code))}
          keyOf={(it) => it.code}
        />
      </details>
    </>
  )
}

const Code = ({ title, id, text }: { readonly title: string; readonly id: string; readonly text: string }) => (
  <section>
    <div class="bar">
      <h3>{title}</h3>
      <Copy text={text} />
    </div>
    <pre tabindex={0} role="region" aria-label={`${title} of ${id}`}>
      {text}
    </pre>
  </section>
)
