import { contract } from '../../../contract/index.js'
import { activeTemplate, tryIssue } from '../../fixtures.js'
import { type Define, probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { delivered, ended, future, issueBeyondLimit, issueCall, issued, keep, limited, successesOf } from './shared.js'

const probe = probesOf('issue', { kind: 'money', needs: ['token', 'template'] })
const issuing = probe.with({ vouchers: 1 })
const tokenProbe = probe.with({ needs: ['token'] })
const waiting = probe.with({ needs: ['token'], waitsMs: 3_000 })
const { issue } = contract.vouchers
const idMembers = ['external_issue_id', 'recipient_user_id'] as const

/** Repeats the group's issue call with another idempotency key. */
const repeated = (run: ProbeContext) =>
  keep(run, 'repeated issue', async () => {
    const voucher = await issued(run)
    const { input } = await issueCall(run)
    return { voucher, response: await run.call(issue, input) }
  })

/** Members of an issue call with an id of `length` symbols, unique for this run. */
const idOf = (run: ProbeContext, member: (typeof idMembers)[number], length: number) => ({
  [member]: run.resources.name().padEnd(length, '~'),
})

const isRefused = (
  name: string,
  title: string,
  changes: (it: ProbeContext) => Readonly<Record<string, unknown>>,
  define: Define = issuing,
  number = 2,
) => define(number, name, title, async (it) => it.refuses(await tryIssue(it, changes(it)), 400))

export const issueProbes = [
  probe.specified(1, 'three-members', 'An issue with its three members is a success.', async (run) => {
    run.succeeds((await issueCall(run)).response)
  }),
  ...(['template_id', 'external_issue_id', 'recipient_user_id'] as const).map((member) =>
    isRefused(
      `without-${member}`,
      `An issue without ${member} is refused with 400.`,
      () => ({ [member]: undefined }),
      issuing.partly,
      1,
    ),
  ),
  probe
    .with({ needs: ['token'], vouchers: 1 })
    .specified(1, 'exhausted-quota', "An issue beyond the template's issue_limit is refused with 409.", async (run) => {
      run.refuses(await issueBeyondLimit(run), 409)
    }),
  tokenProbe.specified(1, 'quota-at-once', 'Concurrent issues beyond the issue_limit are refused.', async (run) => {
    const template_id = await activeTemplate(run, { issue_limit: 1 })
    run.equals('issues', await successesOf(() => tryIssue(run, { template_id })), 1)
  }),
  ...idMembers.flatMap((member) => [
    issuing(
      2,
      `${member}-of-128`,
      `${member} can have 128 visible ASCII characters.`,
      async (it) => void it.succeeds(await tryIssue(it, idOf(it, member, 128))),
    ),
    isRefused(`${member}-of-129`, `${member} of 129 characters is refused with 400.`, (it) => idOf(it, member, 129)),
    isRefused(`empty-${member}`, `An empty ${member} is refused with 400.`, () => ({ [member]: '' })),
  ]),
  issuing(
    2,
    'metadata',
    'An issue takes metadata.',
    async (it) => void it.succeeds(await tryIssue(it, { metadata: { origin: 'conform' } })),
  ),
  probe(2, 'repeated-status', 'A repeated issue to the same recipient is 200.', async (run) => {
    run.equals('status', (await repeated(run)).response.status, 200)
  }),
  probe(2, 'repeated-voucher', 'A repeated issue returns the existing voucher.', async (run) => {
    const { voucher, response } = await repeated(run)
    run.equals('id of the voucher', run.needs(response, 'a repeated issue').id, voucher.id)
  }),
  probe(2, 'repeated-credentials', 'A repeated issue returns the same credentials.', async (run) => {
    const { voucher, response } = await repeated(run)
    const { credentials } = run.needs(response, 'a repeated issue')
    const byType = (list: typeof credentials) => Object.fromEntries(list.map(({ type, value }) => [type, value]))
    run.equals('credentials', byType(credentials), byType(voucher.credentials))
  }),
  probe(2, 'repeated-header', 'A repeated issue has Idempotent-Replayed: true.', async (run) => {
    const { response } = await repeated(run)
    run.needs(response, 'a repeated issue')
    run.equals('Idempotent-Replayed', response.headers['idempotent-replayed']?.toLowerCase(), 'true')
  }),
  probe(2, 'repeated-metadata', 'The metadata of a repeated issue is ignored.', async (run) => {
    const { metadata } = await issued(run)
    run.needs((await repeated(run)).response, 'a repeated issue')
    const { input } = await issueCall(run)
    const again = await run.call(issue, { ...input, metadata: { origin: 'conform' } })
    run.equals('metadata', run.succeeds(again).metadata, metadata)
  }),
  tokenProbe(2, 'repeated-after-quota', 'A repeated issue does not check the quota again.', async (run) => {
    const { template_id, voucher } = await limited(run)
    run.needs((await repeated(run)).response, 'a repeated issue')
    const { externalIssueId: external_issue_id, recipientUserId: recipient_user_id } = voucher
    const again = await run.call(issue, { template_id, external_issue_id, recipient_user_id })
    run.equals('id of the voucher', run.succeeds(again).id, voucher.id)
  }),
  waiting(2, 'repeated-after-the-end', 'A repeated issue does not check the validity again.', async (run) => {
    const { input, unused } = await ended(run)
    run.needs((await repeated(run)).response, 'a repeated issue')
    run.equals('id of the voucher', run.succeeds(await run.call(issue, input)).id, unused.id)
  }),
  probe(2, 'other-recipient', 'A repeated issue to another user is 409 EXTERNAL_ISSUE_ID_CONFLICT.', async (run) => {
    await issued(run)
    const { input } = await issueCall(run)
    const again = await run.call(issue, { ...input, recipient_user_id: run.resources.name() })
    run.refuses(again, 409, 'EXTERNAL_ISSUE_ID_CONFLICT')
  }),
  issuing(2, 'other-template', 'An external_issue_id can be used again for another template.', async (run) => {
    const { id, externalIssueId: external_issue_id } = await issued(run)
    const { template_id } = await future(run)
    const other = run.succeeds(await tryIssue(run, { template_id, external_issue_id }))
    run.holds(other.id !== id, 'another voucher', 'the voucher of the first template')
  }),
  probe.with({ needs: ['token', 'bot', 'chat', 'template'] })(
    2,
    'other-call',
    'An external_issue_id that the bot has used returns its voucher in a direct issue to the recipient.',
    async (run) => {
      const { id, templateId, externalIssueId, recipientUserId } = await delivered(run)
      run.needs((await repeated(run)).response, 'a repeated issue')
      const input = {
        template_id: templateId,
        external_issue_id: externalIssueId,
        recipient_user_id: recipientUserId,
      }
      run.equals('id of the voucher', run.succeeds(await run.call(issue, input)).id, id)
    },
  ),
]
