import { contract } from '../../../contract/index.js'
import { tryIssue } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { delivered, ended, future, issueBeyondLimit, issueCall, issued, keep, limited } from './shared.js'

const probe = probesOf('issue', {
  needs: ['token', 'template'],
  specified: ['three-members', 'exhausted-quota'],
  partly: ['without-template_id', 'without-external_issue_id', 'without-recipient_user_id'],
})
const { issue } = contract.vouchers
const idMembers = ['external_issue_id', 'recipient_user_id'] as const

/** The shared issue, sent again under another idempotency key. */
const repeated = (it: ProbeContext) =>
  keep(it, 'repeated issue', async () => {
    const voucher = await issued(it)
    const { input } = await issueCall(it)
    return { voucher, response: await it.call(issue, input) }
  })

/** Members of an issue with an id of `length` symbols, unique for this run. */
const idOf = (it: ProbeContext, member: (typeof idMembers)[number], length: number) => ({
  [member]: it.resources.name().padEnd(length, '~'),
})

const isRefused = (name: string, title: string, changes: (it: ProbeContext) => Readonly<Record<string, unknown>>) =>
  probe(name, title, { vouchers: 1 }, async (it) => it.refuses(await tryIssue(it, changes(it)), 400))

export const issueProbes = [
  probe('three-members', 'An issue with its three members is a success.', async (it) => {
    it.succeeds((await issueCall(it)).response)
  }),
  ...(['template_id', 'external_issue_id', 'recipient_user_id'] as const).map((member) =>
    isRefused(`without-${member}`, `An issue without ${member} is refused with 400.`, () => ({ [member]: undefined })),
  ),
  probe(
    'exhausted-quota',
    'An issue beyond the issue_limit of the template is refused with 409.',
    { needs: ['token'], vouchers: 1 },
    async (it) => {
      it.refuses(await issueBeyondLimit(it), 409)
    },
  ),
  ...idMembers.flatMap((member) => [
    probe(
      `${member}-of-128`,
      `${member} can have 128 visible ASCII characters.`,
      { vouchers: 1 },
      async (it) => void it.succeeds(await tryIssue(it, idOf(it, member, 128))),
    ),
    isRefused(`${member}-of-129`, `${member} of 129 characters is refused with 400.`, (it) => idOf(it, member, 129)),
    isRefused(`empty-${member}`, `An empty ${member} is refused with 400.`, () => ({ [member]: '' })),
  ]),
  probe(
    'metadata',
    'An issue takes metadata.',
    { vouchers: 1 },
    async (it) => void it.succeeds(await tryIssue(it, { metadata: { origin: 'conform' } })),
  ),
  probe('repeated-status', 'A repeated issue to the same recipient is 200.', async (it) => {
    it.equals('status', (await repeated(it)).response.status, 200)
  }),
  probe('repeated-voucher', 'A repeated issue returns the existing voucher.', async (it) => {
    const { voucher, response } = await repeated(it)
    it.equals('id of the voucher', it.needs(response, 'a repeated issue').id, voucher.id)
  }),
  probe('repeated-credentials', 'A repeated issue returns the same credentials.', async (it) => {
    const { voucher, response } = await repeated(it)
    const { credentials } = it.needs(response, 'a repeated issue')
    const byType = (list: typeof credentials) => Object.fromEntries(list.map(({ type, value }) => [type, value]))
    it.equals('credentials', byType(credentials), byType(voucher.credentials))
  }),
  probe('repeated-header', 'A repeated issue has Idempotent-Replayed: true.', async (it) => {
    const { response } = await repeated(it)
    it.needs(response, 'a repeated issue')
    it.equals('Idempotent-Replayed', response.headers['idempotent-replayed']?.toLowerCase(), 'true')
  }),
  probe('repeated-metadata', 'The metadata of a repeated issue is ignored.', async (it) => {
    const { metadata } = await issued(it)
    it.needs((await repeated(it)).response, 'a repeated issue')
    const { input } = await issueCall(it)
    const again = await it.call(issue, { ...input, metadata: { origin: 'conform' } })
    it.equals('metadata', it.succeeds(again).metadata, metadata)
  }),
  probe(
    'repeated-after-quota',
    'A repeated issue does not check the quota again.',
    { needs: ['token'] },
    async (it) => {
      const { template_id, voucher } = await limited(it)
      it.needs((await repeated(it)).response, 'a repeated issue')
      const { externalIssueId: external_issue_id, recipientUserId: recipient_user_id } = voucher
      const again = await it.call(issue, { template_id, external_issue_id, recipient_user_id })
      it.equals('id of the voucher', it.succeeds(again).id, voucher.id)
    },
  ),
  probe(
    'repeated-after-the-end',
    'A repeated issue does not check the validity again.',
    { needs: ['token'], waitsMs: 3_000 },
    async (it) => {
      const { input, unused } = await ended(it)
      it.needs((await repeated(it)).response, 'a repeated issue')
      it.equals('id of the voucher', it.succeeds(await it.call(issue, input)).id, unused.id)
    },
  ),
  probe('other-recipient', 'A repeated issue to another recipient is 409 EXTERNAL_ISSUE_ID_CONFLICT.', async (it) => {
    await issued(it)
    const { input } = await issueCall(it)
    const again = await it.call(issue, { ...input, recipient_user_id: it.resources.name() })
    it.refuses(again, 409, 'EXTERNAL_ISSUE_ID_CONFLICT')
  }),
  probe(
    'other-template',
    'An external_issue_id can be used again for another template.',
    { vouchers: 1 },
    async (it) => {
      const { id, externalIssueId: external_issue_id } = await issued(it)
      const { template_id } = await future(it)
      const other = it.succeeds(await tryIssue(it, { template_id, external_issue_id }))
      it.holds(other.id !== id, 'a voucher of its own', 'the voucher of the first template')
    },
  ),
  probe(
    'other-call',
    'An external_issue_id that the bot has used returns its voucher in a direct issue to the recipient.',
    { needs: ['token', 'bot', 'chat', 'template'] },
    async (it) => {
      const { id, templateId, externalIssueId, recipientUserId } = await delivered(it)
      it.needs((await repeated(it)).response, 'a repeated issue')
      const input = {
        template_id: templateId,
        external_issue_id: externalIssueId,
        recipient_user_id: recipientUserId,
      }
      it.equals('id of the voucher', it.succeeds(await it.call(issue, input)).id, id)
    },
  ),
]
