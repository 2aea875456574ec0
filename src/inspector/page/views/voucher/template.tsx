import type { ListedTemplate } from '../../../../contract/platform/platform.js'
import type { Voucher } from '../../../../contract/vouchers.js'
import { Heading, Loaded } from '../../components.js'
import { linkTo, type ViewProps } from '../../router.js'
import { type Action, Actions, decisionsOn, uniqueId } from '../actions.js'
import { Members } from '../members.js'
import { StateBadge } from '../state-badge.js'
import { concerns, Quota, Totals } from './templates.js'

/** A template with all its values, its quota and its totals, and what the operator can do with it. */
export function TemplateView({ params: { id = '' } }: ViewProps) {
  return (
    <article>
      <Loaded
        path={`/templates/${encodeURIComponent(id)}`}
        on={['clock', 'reviews']}
        about={concerns}
        heading="Template"
        view={showTemplate}
      />
    </article>
  )
}

function showTemplate(template: ListedTemplate, reload: () => void) {
  const { id, name } = template
  return (
    <>
      <Heading more={StateBadge(template)}>{name}</Heading>
      <Members of={template} except={['name', 'status', 'applicationName']} />
      <p class="quota">
        {Quota(template)}: <a href={linkTo(['vouchers'], { template_id: id })}>its vouchers</a>
      </p>
      <Actions of={name} actions={actionsOn(template)} done={reload} />
      <Totals of={id} />
    </>
  )
}

const BY_BOT = 'The template belongs to a bot, and no application can call for it: use the token of the bot.'

function actionsOn({ id, status, applicationId }: ListedTemplate): readonly Action[] {
  const caller = { as: { kind: 'application', id: applicationId ?? '' } } as const
  const submit: Action = {
    label: 'Submit',
    refusal: !applicationId && BY_BOT,
    calls: () => [{ endpoint: 'templates.submit', input: { templateId: id }, ...caller }],
    outcome: () => 'Submitted: it can be approved or rejected.',
  }
  const issue: Action = {
    label: 'Issue',
    refusal: applicationId
      ? status !== 'active' && `Only an active template is issued; this one is ${status}.`
      : BY_BOT,
    fields: {
      amount: { label: 'Vouchers', value: '1', options: Object.entries({ 1: 'One', 10: 'Ten' }) },
      recipient: { label: 'Recipient', value: 'user-1' },
      own: { label: 'Own id', value: () => uniqueId('order') },
    },
    calls: ({ amount, recipient, own }, key) =>
      Array.from({ length: Number(amount) }, (_, index) => {
        const numbered = (text = '') => (amount === '1' ? text : `${text}-${index + 1}`)
        const ids = { external_issue_id: numbered(own), recipient_user_id: numbered(recipient) }
        const input = { template_id: id, ...ids }
        return { endpoint: 'vouchers.issue', input, idempotencyKey: numbered(key), ...caller }
      }),
    outcome: (made: readonly Voucher[]) => (
      <>
        <p class="good">{made.length} issued:</p>
        <ul>
          {made.map((it) => (
            <li>
              <a href={linkTo(['vouchers', it.id])}>{it.externalIssueId}</a> for {it.recipientUserId}
            </li>
          ))}
        </ul>
      </>
    ),
  }
  return [
    ...(status === 'draft' || status === 'rejected' ? [submit] : []),
    ...(status === 'reviewing' ? decisionsOn('template', id) : []),
    issue,
  ]
}
