import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { codeOf } from '../../../files/error-code.js'
import type { Context } from '../../command/context.js'
import { leaf } from '../../command/leaf.js'
import { type Failure, fail } from '../../failure.js'
import { choice, matching, required, text, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { optionOf } from '../../output/suggestions.js'
import { numberText } from '../../output/value-text.js'
import type { Sheet } from './sheet/layout.js'

interface SheetSummary {
  readonly vouchers: number
  readonly pages: number
  readonly paper: string
  readonly out: string
}

const isPdf = (path: string) => /\.pdf$/i.test(path)
const number = (count: number, noun: string) => `${numberText(count)} ${noun}${count === 1 ? '' : 's'}`

/** Writes all vouchers of a file, or refuses the file (DECISIONS.md#voucher-sheets). */
export const sheet = leaf({
  name: 'sheet',
  summary: 'Write a sheet to print: QR code and text of each voucher of a file',
  notes: [
    'FILE is CSV with a header line, or NDJSON, such as the results of issue-many: qr_token, and optionally redeem_code, name, issuer_name, recipient_user_id, external_issue_id, valid_from and valid_until. No server is called.',
    'Each voucher has the size of a business card (89 x 51 mm) with a border to cut along; ten fit on a page. Print at 100 %. Times are in UTC.',
    'A PDF sheet prints Western European letters (Windows-1252); for other characters the command writes no file and names their rows. An HTML sheet prints every script: open it in a browser and print it there.',
    'Anyone who has the sheet can redeem the vouchers. Only you can read the file (mode 0600): delete it once it is printed.',
  ],
  positional: { name: 'FILE', summary: 'CSV or NDJSON with QR data, or - for standard input', ask: 'File' },
  flags: {
    out: required(
      matching('FILE', 'The sheet; .pdf or .html', (it) => /\.(pdf|html)$/i.test(it), 'must end in .pdf or .html'),
      'File of the sheet',
    ),
    title: text('TEXT', 'Title of each voucher, in place of its name in FILE'),
    paper: choice(['a4', 'letter'], 'Size of the paper, default a4'),
    force: toggle('Replace the file of --out'),
  },
  examples: [
    { command: 'voucherctl vouchers sheet codes.csv --out sheet.pdf' },
    { command: 'voucherctl vouchers sheet codes.csv --out sheet.html --paper letter', comment: 'Prints every script' },
  ],
  changes: true,
  view: {
    headline: ({ vouchers, pages }: SheetSummary) =>
      `Wrote ${number(vouchers, 'voucher')} on ${number(pages, 'page')}.`,
    members: ['vouchers', 'pages', 'paper', 'out'],
    key: 'out',
    next: ({ out }) => `Anyone who has ${out} can redeem the vouchers: delete it once it is printed.`,
  },
  run: async (context, { positional, flags }): Promise<Outcome<SheetSummary>> => {
    const { out, title, paper = 'a4', force } = flags
    const path = resolve(context.host.cwd, out)
    if (!force && existsSync(path)) return exists(out)
    // With a static import, help of the group would load the modules that run a command.
    const [{ readLabels }, { CARDS_PER_PAGE }, { withProgress }] = await Promise.all([
      import('./sheet/labels.js'),
      import('./sheet/layout.js'),
      import('../../output/progress.js'),
    ])
    const labels = await readLabels(context, positional, title)
    if (!labels.ok) return labels
    const vouchers = labels.value.length
    const drawn = await withProgress(
      context.host,
      `Drawing ${number(vouchers, 'voucher')}`,
      draw(context, { labels: labels.value, paper }, out),
    )
    if ('ok' in drawn) return drawn
    if (context.dryRun) return context.plan(`write ${number(vouchers, 'voucher')} to ${out}`)
    try {
      const { createFile, replaceFile } = await import('../../../files/replace-file.js')
      if (force) replaceFile(path, drawn)
      else if (!createFile(path, drawn, true)) return exists(out)
    } catch (error) {
      return fail(
        'FILE_UNWRITABLE',
        `${out} cannot be written (${codeOf(error)}).`,
        'Check its folder, owner and permissions, or name another file.',
      )
    }
    return { ok: true, data: { vouchers, pages: Math.ceil(vouchers / CARDS_PER_PAGE), paper, out } }
  },
})

const exists = (out: string) =>
  fail('FILE_UNWRITABLE', `${out} exists and stays as it is.`, 'Name another file, or replace this one with --force.')

async function draw(context: Context, sheet: Sheet, out: string): Promise<readonly Uint8Array[] | Failure> {
  const { signal } = context.host
  const { interrupted, refuseRows } = await import('./sheet/labels.js')
  let parts: readonly Uint8Array[]
  if (isPdf(out)) {
    const { pdfOf } = await import('./sheet/pdf.js')
    const drawn = await pdfOf(sheet, signal)
    if (!(drawn instanceof Uint8Array)) {
      const html = String(context.line).replace(optionOf('out', out), optionOf('out', out.replace(/\.pdf$/i, '.html')))
      return refuseRows(drawn, sheet.labels.length, `An HTML sheet prints every script, from a browser: \`${html}\`.`)
    }
    parts = [drawn]
  } else {
    const { htmlOf } = await import('./sheet/html.js')
    parts = await htmlOf(sheet, signal)
  }
  return signal.aborted ? interrupted : parts
}
