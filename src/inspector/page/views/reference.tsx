import { useState } from 'preact/hooks'
import type { Reference, ReferenceEndpoint, ReferenceMember } from '../../../contract/platform/reference.js'
import { type Column, Copy, Heading, Loaded, Table, TextFilter } from '../components.js'
import type { ViewProps } from '../router.js'
import { Send } from './send.js'

/** Every endpoint of the interface, from the contract as in `voucherctl server openapi --html`, and a form to call it. */
export function ReferenceView({ query }: ViewProps) {
  return (
    <article>
      <Heading>API</Heading>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <TextFilter name="find" label="Endpoint, path, scope, member or failure code" />
      </form>
      <Loaded path="/reference" view={(it: Reference) => groupsWith(it, query.get('find') ?? '')} />
    </article>
  )
}

/** The groups with the endpoints that contain all words, or the endpoint with this id; a single endpoint is open. */
function groupsWith({ groups, failures }: Reference, find: string) {
  const words = find.toLowerCase().split(/\s+/)
  const isNamed = groups.some(({ endpoints }) => endpoints.some(({ id }) => id === find))
  const isFound = ({ example, output, ...described }: ReferenceEndpoint) =>
    isNamed ? described.id === find : words.every((it) => JSON.stringify(described).toLowerCase().includes(it))
  const found = groups.map((it) => ({ ...it, endpoints: it.endpoints.filter(isFound) }))
  const total = found.flatMap((it) => it.endpoints).length
  if (total === 0) return <p class="empty">No endpoint has all of these words.</p>
  return found.map(({ name, description, endpoints }) =>
    endpoints.length === 0 ? null : (
      <section key={name}>
        <h2>
          {name} <small class="quiet">{description}</small>
        </h2>
        {endpoints.map((it) => (
          <Endpoint key={`${it.id} ${total === 1}`} endpoint={it} failures={failures} isOpen={total === 1} />
        ))}
      </section>
    ),
  )
}

interface EndpointProps {
  readonly endpoint: ReferenceEndpoint
  readonly failures: Reference['failures']
  readonly isOpen: boolean
}

function Endpoint({ endpoint, failures, isOpen }: EndpointProps) {
  const [open, setOpen] = useState(isOpen)
  return (
    <details class="endpoint" open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <code>
          <b>{endpoint.method}</b> {endpoint.path}
        </code>{' '}
        <span class="quiet">{endpoint.summary}</span>
      </summary>
      {/* The tables of all endpoints would be thousands of rows. */}
      {open && describe(endpoint, failures)}
    </details>
  )
}

type Described = ReferenceEndpoint['output'][number] & Partial<Pick<ReferenceMember, 'in'>>

/** Columns of members of inputs, which have a place, and of responses. */
const columns: readonly Column<Described>[] = [
  {
    head: 'Member',
    cell: (it) => (
      <>
        {it.in && <small class="quiet">{it.in}</small>} <code>{it.name}</code>{' '}
        {it.in && it.required && <small class="quiet">required</small>}
      </>
    ),
  },
  {
    head: 'Type',
    cell: (it) => (
      <>
        <code>{it.type}</code> <small class="quiet">{it.description}</small>
      </>
    ),
  },
]

const failureColumns: readonly Column<Reference['failures'][number]>[] = [
  { head: 'Failure', cell: (it) => <code>{it.code}</code> },
  { head: 'Status', cell: (it) => it.status },
  { head: 'Meaning and fix', cell: (it) => `${it.message} ${it.fix}` },
]

function describe(endpoint: ReferenceEndpoint, all: Reference['failures']) {
  const { id, caller, scope, idempotency_key, members, output, failures, status, example } = endpoint
  const rows = failures.flatMap((code) => all.filter((it) => it.code === code))
  const schema = (
    <Table caption={`Response of ${id}`} columns={columns} rows={output} keyOf={keyOf} empty="No fixed members." />
  )
  const code = (title: string, text: string) => (
    <>
      <p class="bar">
        {title} <Copy text={text} />
      </p>
      <pre tabindex={0} role="region" aria-label={`${title} of ${id}`}>
        {text}
      </pre>
    </>
  )
  return (
    <>
      <p>
        <code>{id}</code> · credential <code>{caller}</code>
        {scope && ` · scope ${scope}`}
        {idempotency_key && ` · Idempotency-Key ${idempotency_key}`}
      </p>
      <Send endpoint={endpoint} schema={schema} />
      {members.length > 0 && <Table caption={`Members of ${id}`} columns={columns} rows={members} keyOf={keyOf} />}
      {code('curl', example.curl)}
      {code('Client library', example.client)}
      <details>
        <summary>Response {status}</summary>
        {code('data', example.response)}
        {schema}
      </details>
      <details>
        <summary>
          {failures.length} failures: {failures.slice(0, 3).join(', ')} …
        </summary>
        <Table caption={`Failures of ${id}`} columns={failureColumns} rows={rows} keyOf={(it) => it.code} />
      </details>
    </>
  )
}

const keyOf = (member: Described) => `${member.in} ${member.name}`
