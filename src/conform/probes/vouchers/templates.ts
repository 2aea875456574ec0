import { fulfillmentCategories } from '../../../contract/fields.js'
import { contract } from '../../../contract/index.js'
import { credentialOf, listed, templateInput } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { create, createByBot, draftCall, issueBeyondLimit, keptDraft, limited, reverse } from './shared.js'

const { vouchers } = contract

const members = [
  'external_template_id',
  'name',
  'type',
  'issuer_name',
  'fulfiller_name',
  'fulfillment_category',
  'acquisition_source',
  'validity',
  'issue_limit',
] as const
const probe = probesOf('templates', { needs: ['token'] })
const botProbe = probe.with({ needs: ['jwt', 'bot id'] })

type Changes = (it: ProbeContext) => Record<string, unknown>

/** Defines a probe of a create call with changed members that must succeed. */
const accepts = (name: string, title: string, changes: Changes) =>
  probe(2, name, title, async (it) => void it.succeeds(await create(it, { ...templateInput(it), ...changes(it) })))

/** Defines a probe of a create call with changed members that must be refused with 400. */
const refuses = (name: string, title: string, changes: Changes) =>
  probe(2, name, title, async (it) => it.refuses(await create(it, { ...templateInput(it), ...changes(it) }), 400))

/** Makes an external template id of `length` symbols, with all permitted symbols. */
const externalId = (it: ProbeContext, length: number) => `${it.resources.name()}.AZ_az:09-`.padEnd(length, 'x')

async function issuedCount(run: ProbeContext): Promise<number> {
  const { voucher } = await limited(run)
  const { templateId: id, externalTemplateId } = voucher
  const found = await listed(run, { id, externalTemplateId })
  return found?.issuedCount ?? run.notApplicable('Needs a template in the list, with its count.')
}

export const templateProbes = [
  probe(2, 'nine-members', 'A create call with the nine members of a template is a success.', async (run) => {
    run.succeeds((await draftCall(run)).response)
  }),
  botProbe.specified(1, 'nine-members-by-bot', 'The create call of a bot takes the same nine members.', async (run) => {
    run.succeeds(await createByBot(run, templateInput(run)))
  }),
  ...members.flatMap((member) => [
    refuses(`without-${member}`, `A template without ${member} is refused with 400.`, () => ({ [member]: undefined })),
    botProbe.partly(
      1,
      `without-${member}-by-bot`,
      `A template of a bot without ${member} is refused with 400.`,
      async (it) => it.refuses(await createByBot(it, { ...templateInput(it), [member]: undefined }), 400),
    ),
  ]),
  ...fulfillmentCategories.map((category) =>
    botProbe.specified(
      1,
      `category-${category}`,
      `A template of a bot can have the fulfillment_category ${category}.`,
      async (it) => void it.succeeds(await createByBot(it, templateInput(it, { fulfillment_category: category }))),
    ),
  ),
  refuses(
    'category-unknown',
    'A template with another fulfillment_category than the three is refused with 400.',
    () => ({ fulfillment_category: 'conform' }),
  ),
  accepts('optional-members', 'A create call takes a description of 500 code points and metadata.', () => ({
    description: 'd'.repeat(500),
    metadata: { origin: 'conform' },
  })),
  botProbe(
    2,
    'optional-members-by-bot',
    'The create call of a bot takes a description of 500 code points and metadata.',
    async (run) => {
      const optional = { description: 'd'.repeat(500), metadata: { origin: 'conform' } }
      run.succeeds(await createByBot(run, { ...templateInput(run), ...optional }))
    },
  ),
  refuses('description-of-501', 'A description of 501 code points is refused with 400.', () => ({
    description: 'd'.repeat(501),
  })),
  ...(['type', 'acquisition_source'] as const).flatMap((member) => [
    accepts(`${member}-of-64`, `${member} can be any lower-case word of 64 letters, digits and underscores.`, () => ({
      [member]: 'conform_09'.padEnd(64, 'z'),
    })),
    refuses(`${member}-of-65`, `${member} of 65 characters is refused with 400.`, () => ({
      [member]: 'conform'.padEnd(65, 'z'),
    })),
    refuses(`${member}-in-upper-case`, `${member} in upper case is refused with 400.`, () => ({ [member]: 'CONFORM' })),
  ]),
  accepts('external-id-of-64', 'external_template_id can have 64 of A-Z a-z 0-9 . _ : -.', (it) => ({
    external_template_id: externalId(it, 64),
  })),
  refuses('external-id-of-65', 'external_template_id of 65 characters is refused with 400.', (it) => ({
    external_template_id: externalId(it, 65),
  })),
  refuses(
    'external-id-with-a-slash',
    'external_template_id with another character, such as a slash, is refused with 400.',
    (it) => ({ external_template_id: `${it.resources.name()}/1` }),
  ),
  probe(
    3,
    'external-id-used',
    'external_template_id of a draft of the application is 409 EXTERNAL_TEMPLATE_ID_EXISTS for another template.',
    async (run) => {
      const { externalTemplateId: external_template_id } = await keptDraft(run)
      const response = await create(run, { ...templateInput(run), external_template_id })
      run.refuses(response, 409, 'EXTERNAL_TEMPLATE_ID_EXISTS')
    },
  ),
  refuses('issue-limit-of-0', 'An issue_limit of 0 is refused with 400.', () => ({ issue_limit: 0 })),
  accepts('largest-issue-limit', 'An issue_limit of 1,000,000,000 is accepted.', () => ({
    issue_limit: 1_000_000_000,
  })),
  refuses('too-large-issue-limit', 'An issue_limit of 1,000,000,001 is refused with 400.', () => ({
    issue_limit: 1_000_000_001,
  })),
  probe
    .with({ kind: 'money' })
    .specified(1, 'issue-counts', 'An issue counts its voucher in issuedCount of the template.', async (run) => {
      run.equals('issuedCount', await issuedCount(run), 1)
    }),
  probe(3, 'count-is-not-reduced', 'A redemption and its reversal do not reduce issuedCount.', async (run) => {
    const { voucher } = await limited(run)
    await issueBeyondLimit(run)
    const before = await issuedCount(run)
    const redeem = await run.call(vouchers.redeem, { credential: credentialOf(run, voucher) })
    const { id } = run.needs(redeem, 'a redemption')
    run.needs(await reverse(run, id), 'a reversal')
    run.equals('issuedCount', await issuedCount(run), before)
  }),
]
