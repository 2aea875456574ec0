import type { Review } from '../../../contract/platform/platform.js'
import { Heading, Loaded, Time } from '../components.js'
import { Name } from '../name.js'
import { linkTo } from '../router.js'
import { Actions, decisionsOn } from './actions.js'
import { Members } from './members.js'

/** Templates and bots that wait for the operator, oldest first, each with its values. */
export function ReviewsView() {
  return (
    <article>
      <Heading>Reviews</Heading>
      <Loaded
        path="/reviews"
        on={['reviews']}
        view={({ items }: { items: readonly Review[] }, reload: () => void) =>
          items.length ? (
            items.map((item) => <Item key={item.id} review={item} reload={reload} />)
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
  return (
    <section class="review">
      <h2>
        <a href={linkTo([`${kind}s`, id])}>{name}</a>{' '}
        <small>
          {kind} of {application_id ? <Name id={application_id} /> : account_id}, submitted <Time at={submitted_at} />
        </small>
      </h2>
      <Loaded path={`/${kind}s/${encodeURIComponent(id)}`} view={values} />
      <Actions of={name} actions={decisionsOn(kind, id)} done={reload} />
    </section>
  )
}

/** What a decision is about: everything but what comes from the platform. */
const own = ['id', 'name', 'status', 'applicationName', 'applicationId', 'submittedAt', 'createdAt', 'updatedAt']

const values = (of: object) => <Members of={of} except={own} />
