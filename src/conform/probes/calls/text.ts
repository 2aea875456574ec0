import { contract } from '../../../contract/index.js'
import { createTemplate, credentialOf, tryIssue } from '../../fixtures.js'
import { probesOf } from '../../probe.js'
import type { ProbeContext } from '../../probe-context.js'
import { redeemed, unredeemed } from './shared.js'

const probe = probesOf('text', { needs: ['token'] })
const voucherProbe = probe.with({ needs: ['token', 'template'] })
const moneyProbe = voucherProbe.with({ kind: 'money' })
const { vouchers } = contract

/** The Kelvin sign, which NFC converts to K. */
const KELVIN = '\u212a'

/** A name of one base character with this many combining marks. */
const withMarks = (marks: number) => `e${'\u0323'.repeat(marks)}`

const pairs = (count: number, key = 'key', value = 'value') =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`${at}${key}`, value]))

async function nameOf(run: ProbeContext, name: string): Promise<string> {
  const created = run.needs(await createTemplate(run, { name }), 'a template')
  return created.name ?? run.notApplicable('Needs a template with a name.')
}

const refusedTexts = [
  ['control-character', 'a control character', 'conform\u0007'],
  ['lone-surrogate', 'a lone surrogate', 'conform\ud800'],
  ['direction-override', 'a character that overrides the text direction', 'conform\u202e'],
  ['combining-marks', '31 combining marks in a row', withMarks(31)],
] as const

const refusedIds = [
  ['space', 'a space', ' 1'],
  ['letter', 'a letter outside of ASCII', 'é'],
  ['kelvin-sign', 'the Kelvin sign', KELVIN],
] as const

const refusedMetadata = [
  ['21-pairs', '21 pairs', pairs(21)],
  ['key-of-41', 'a key of 41 characters', { ['k'.repeat(41)]: 'value' }],
  ['value-of-501', 'a value of 501 characters', { key: 'v'.repeat(501) }],
  ['number', 'a number', { key: 1 }],
  ['equal-keys', 'two keys that NFC makes equal', { é: 'one', 'e\u0301': 'two' }],
] as const

export const text = [
  probe(1, 'nfc', 'A text is normalised to NFC.', async (run) =>
    run.equals('name', await nameOf(run, 'conform e\u0301'), 'conform \u00e9'),
  ),
  probe(1, 'unchanged', 'A text is not changed beside its normalisation.', async (run) => {
    const name = ' conform  <b>&amp; \u200d\u{1f600}. '
    run.equals('name', await nameOf(run, name), name)
  }),
  probe(1, 'code-points', 'The length of a text counts code points: 500 emoji fit a limit of 500.', async (run) => {
    run.needs(await createTemplate(run, { description: 'a'.repeat(500) }), 'a description of 500 characters')
    run.succeeds(await createTemplate(run, { description: '\u{1f600}'.repeat(500) }))
  }),
  ...refusedTexts.map(([name, what, value]) =>
    probe(1, name, `A text with ${what} is refused with 400.`, async (run) =>
      run.refuses(await createTemplate(run, { name: value }), 400),
    ),
  ),
  probe(1, '30-combining-marks', 'A text with 30 combining marks in a row is accepted.', async (run) =>
    run.succeeds(await createTemplate(run, { name: withMarks(30) })),
  ),
  probe(1, 'kelvin-sign', 'A text with the Kelvin sign is accepted.', async (run) =>
    run.succeeds(await createTemplate(run, { name: `conform ${KELVIN}` })),
  ),
  ...refusedIds.map(([name, what, end]) =>
    voucherProbe(2, `${name}-in-an-id`, `An external_issue_id with ${what} is refused with 400.`, async (it) =>
      it.refuses(await tryIssue(it, { external_issue_id: `${it.resources.name()}${end}` }), 400),
    ),
  ),
  voucherProbe(2, 'space-in-a-recipient', 'A recipient_user_id with a space is refused with 400.', async (it) =>
    it.refuses(await tryIssue(it, { recipient_user_id: 'conform 1' }), 400),
  ),
  voucherProbe(2, 'space-in-a-reference', 'A reference with a space is refused with 400.', async (run) => {
    const { voucher, response } = await redeemed(run)
    run.needs(response, 'a redemption')
    const [credential] = voucher.credentials
    // The voucher is already redeemed, so that the call changes nothing even if the platform accepts the reference.
    run.refuses(await run.call(vouchers.redeem, { credential, reference: 'conform 1' }), 400)
  }),
  probe(2, 'case-of-ids', 'Ids of other systems are case-sensitive.', async (run) => {
    const external_template_id = run.resources.name()
    run.needs(await createTemplate(run, { external_template_id }), 'a template')
    const created = await createTemplate(run, { external_template_id: external_template_id.toUpperCase() })
    run.succeeds(created)
  }),
  moneyProbe(2, 'case-of-an-issue-id', 'An external_issue_id in upper case is another id.', async (run) => {
    const { id, externalIssueId } = await unredeemed(run)
    const other = run.succeeds(await tryIssue(run, { external_issue_id: externalIssueId.toUpperCase() }))
    run.holds(other.id !== id, 'another voucher', 'the voucher of the id in lower case')
  }),
  moneyProbe(2, 'case-of-a-recipient', 'A recipient_user_id in upper case is another recipient.', async (run) => {
    const one = await unredeemed(run)
    const reasonFor = async (recipient_user_id: string) =>
      run.needs(await run.call(vouchers.verify, { credential: credentialOf(run, one), recipient_user_id }), 'it').reason
    const mismatch = await reasonFor('conform-other')
    if (mismatch === null) run.notApplicable('Needs a platform that compares the recipient.')
    run.equals('reason', await reasonFor(one.recipientUserId.toUpperCase()), mismatch)
  }),
  probe(3, 'metadata', 'The metadata takes 20 pairs, keys of 40 and values of 500 characters.', async (run) => {
    const metadata = pairs(20, 'k'.repeat(38), 'v'.repeat(500))
    run.succeeds(await createTemplate(run, { metadata }))
  }),
  ...refusedMetadata.map(([name, what, metadata]) =>
    voucherProbe(3, `metadata-${name}`, `The metadata with ${what} is refused with 400.`, async (it) =>
      it.refuses(await tryIssue(it, { metadata }), 400),
    ),
  ),
]
