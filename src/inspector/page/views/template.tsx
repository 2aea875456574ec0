import { useState } from 'preact/hooks'
import type { ListedTemplate, Totals } from '../../../contract/platform/platform.js'
import type { Voucher } from '../../../contract/vouchers.js'
import { Heading, Loaded } from '../components.js'
import type { Entry } from '../model/activity-log.js'
import { issueVoucher, submitTemplate } from '../model/app-calls.js'
import { count } from '../model/format.js'
import { linkTo, type ViewProps } from '../router.js'
import { type Action, ActionForm, Actions, Field, uniqueId } from './actions.js'
import { AllMembers } from './all-members.js'
import { Choice } from './choice.js'
import { decisions } from './decide.js'
import { StateBadge } from './state-badge.js'
import { Chart, concerns, periods } from './templates.js'

interface OfTemplate {
  readonly template: ListedTemplate
  readonly reload: () => void
}

/** A template with all its values, its quota and its totals, and what the operator can do with it. */
export function TemplateView({ params: { id = '' } }: ViewProps) {
  return (
    <article>
      <Loaded
        path={`/templates/${encodeURIComponent(id)}`}
        on={['clock', 'reviews', 'reset']}
        about={concerns}
        view={(it: ListedTemplate, reload: () => void) => <Template template={it} reload={reload} />}
      />
    </article>
  )
}

function Template({ template, reload }: OfTemplate) {
  const { id, name, issueLimit, issuedCount } = template
  return (
    <>
      <Heading more={StateBadge(template)}>{name}</Heading>
      <AllMembers of={template} except={['name', 'status', 'applicationName']} />
      <p class="quota">
        <meter max={issueLimit} value={issuedCount} aria-label={`Issued vouchers of ${name}`}></meter>{' '}
        {count(issuedCount)} of {count(issueLimit)} issued:{' '}
        <a href={linkTo(['vouchers'], { template_id: id })}>its vouchers</a>
      </p>
      <Actions of={name} actions={actionsOf({ template, reload })} />
      <OverTime id={id} />
    </>
  )
}

function OverTime({ id }: { readonly id: string }) {
  const [period, setPeriod] = useState<string>(periods[1][0])
  return (
    <section>
      <div class="bar">
        <h2>Issued and redeemed</h2>
        <Choice label="Period" options={periods} value={period} choose={setPeriod} />
      </div>
      <Loaded
        path={`/totals?seconds=${period}&template_id=${encodeURIComponent(id)}`}
        on={['clock', 'reset']}
        about={(it: Entry) => concerns(it)}
        view={(it: Totals) => <Chart {...it} />}
      />
    </section>
  )
}

const BY_BOT = 'The template belongs to a bot, which no application can call for: use the token of the bot.'

function actionsOf({ template, reload }: OfTemplate): readonly Action[] {
  const { id, status, applicationId } = template
  const isReviewing = status === 'reviewing'
  const submit: Action = {
    label: 'Submit',
    refusal: !applicationId && BY_BOT,
    form: () => (
      <ActionForm
        calls={[submitTemplate({ id, applicationId: applicationId ?? '' })]}
        label="Submit for review"
        done={reload}
        outcome={() => 'Submitted: it can be approved or rejected.'}
      />
    ),
  }
  const issue: Action = {
    label: 'Issue',
    refusal: !applicationId
      ? BY_BOT
      : status !== 'active' && `Only an active template is issued; this one is ${status}.`,
    form: () => <Issue template={template} applicationId={applicationId ?? ''} reload={reload} />,
  }
  return [
    ...(status === 'draft' || status === 'rejected' ? [submit] : []),
    ...(isReviewing ? decisions({ kind: 'template', id, done: reload }) : []),
    issue,
  ]
}

const amounts = [
  [1, 'One'],
  [10, 'Ten'],
] as const

function Issue({ template, applicationId, reload }: OfTemplate & { readonly applicationId: string }) {
  const [amount, setAmount] = useState<number>(1)
  const [recipient, setRecipient] = useState('user-1')
  const [own, setOwn] = useState(() => uniqueId('order'))
  const numbered = (text: string, index: number) => (amount === 1 ? text : `${text}-${index + 1}`)
  const calls = Array.from({ length: amount }, (_, index) => {
    const external_issue_id = numbered(own, index)
    const body = { template_id: template.id, external_issue_id, recipient_user_id: numbered(recipient, index) }
    return issueVoucher(applicationId, body, external_issue_id)
  })
  const done = () => {
    setOwn(uniqueId('order'))
    reload()
  }
  return (
    <ActionForm
      calls={calls}
      label={amount === 1 ? 'Issue a voucher' : `Issue ${amount} vouchers`}
      done={done}
      outcome={(made: readonly Voucher[]) => (
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
      )}
    >
      <div class="filters">
        <Choice label="Number of vouchers" options={amounts} value={amount} choose={setAmount} />
        <Field label="Recipient" value={recipient} onValue={setRecipient} required />
        <Field label="Own id" value={own} onValue={setOwn} required />
      </div>
    </ActionForm>
  )
}
