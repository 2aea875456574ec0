import { useState } from 'preact/hooks'
import type { Review } from '../../../contract/platform/platform.js'
import { Heading, Loaded, Time } from '../components.js'
import { act } from './act.js'

/** Templates and bots that wait for the operator, oldest first. */
export function ReviewsView() {
  return (
    <article>
      <Heading>Reviews</Heading>
      <Loaded
        path="/reviews"
        on={['reviews', 'reset', 'seed']}
        view={({ items }: { items: readonly Review[] }, reload: () => void) =>
          items.length ? (
            <ul class="rows">
              {items.map((item) => (
                <Item key={item.id} review={item} reload={reload} />
              ))}
            </ul>
          ) : (
            <p class="empty">Nothing waits for review.</p>
          )
        }
      />
    </article>
  )
}

interface ItemProps {
  readonly review: Review
  readonly reload: () => void
}

function Item({ review: { kind, id, name, application_id, account_id, submitted_at }, reload }: ItemProps) {
  const [rejecting, setRejecting] = useState(false)
  const decide = async (decision: string, body: object) => {
    if (await act('POST', `/${kind}s/${id}/${decision}`, body, `Done: ${decision} ${name}.`)) reload()
  }
  const reject = (event: Event) => {
    event.preventDefault()
    void decide('reject', Object.fromEntries(new FormData(event.currentTarget as HTMLFormElement)))
  }
  return (
    <li>
      <div>
        <strong>{name}</strong> {kind} of {application_id ?? account_id} <Time at={submitted_at} />
      </div>
      <button class="primary" aria-label={`Approve ${name}`} onClick={() => decide('approve', {})}>
        Approve
      </button>
      <button aria-expanded={rejecting} aria-label={`Reject ${name}`} onClick={() => setRejecting(!rejecting)}>
        Reject …
      </button>
      {rejecting && (
        <form class="actions" onSubmit={reject}>
          {kind === 'template' && (
            <label>
              Code <input name="code" required placeholder="unclear_terms" />
            </label>
          )}
          <label>
            Reason <input name={kind === 'template' ? 'reason' : 'note'} required />
          </label>
          <button class="danger">Reject</button>
        </form>
      )}
    </li>
  )
}
