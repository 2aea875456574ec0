import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { leaf } from '../../command/leaf.js'
import { fail } from '../../failures/failure.js'
import { choice, matching, required, text, toggle } from '../../flags/flags.js'
import type { Outcome } from '../../output/outcome.js'
import { numberText } from '../../output/text.js'
import { delimiter } from './bulk-command.js'

interface SheetSummary {
  readonly vouchers: number
  readonly pages: number
  readonly paper: string
  readonly out: string
}

const number = (count: number, noun: string) => `${numberText(count)} ${noun}${count === 1 ? '' : 's'}`

/** Writes all vouchers of a file, or refuses the file (rules/cli.md#voucher-sheets). */
export const sheet = leaf({
  name: 'sheet',
  summary: 'Write a sheet to print: QR code and text of each voucher of a file',
  notes: [
    'FILE is CSV with a header line, or NDJSON, such as the results of issue-many: qr_token, and optionally redeem_code, name, issuer_name, recipient_user_id, external_issue_id, valid_from and valid_until. No server is called.',
    'Each voucher has the size of a business card (89 x 51 mm) with a border to cut along; ten fit on a page. Print at 100 %. Times are in UTC.',
    'The sheet is an HTML file: print it from a browser, whose print dialog also makes a PDF of it. With --open, and if stdout is a terminal, the command opens it there.',
    'Anyone who has the sheet can redeem the vouchers. Only you can read the file (mode 0600): delete it once it is printed.',
  ],
  positional: { name: 'FILE', summary: 'CSV or NDJSON with QR data, or - for standard input', ask: 'File' },
  flags: {
    out: required(
      matching(
        'FILE',
        'The sheet; .html',
        (it) => /\.html$/i.test(it),
        'must end in .html. For a PDF, open the HTML file in a browser and print it: --open opens it',
      ),
      'File of the sheet',
    ),
    title: text('TEXT', 'Title of each voucher, in place of its name in FILE'),
    paper: choice(['a4', 'letter'], 'Size of the paper, default a4'),
    force: toggle('Replace the file of --out'),
    delimiter,
    open: toggle('Open the sheet in the browser, to print it'),
  },
  examples: [
    'voucherctl vouchers sheet codes.csv --out sheet.html --open',
    'voucherctl vouchers sheet codes.csv --out sheet.html --paper letter',
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
    const { out, title, paper = 'a4', force, open, delimiter } = flags
    const path = resolve(context.host.cwd, out)
    if (!force && existsSync(path)) return exists(out)
    // Import on demand: help of the group must not load the modules that run a command.
    const [files, { interrupted, readLabels }, { CARDS_PER_PAGE, htmlOf }, { withProgress }] = await Promise.all([
      import('../../host/files.js'),
      import('./sheet/labels.js'),
      import('./sheet/html.js'),
      import('../../output/progress.js'),
    ])
    const unwritable = context.dryRun ? undefined : await files.checkWritable(context.host, out)
    if (unwritable !== undefined) return unwritable
    const labels = await readLabels(context, positional, title, delimiter)
    if (!labels.ok) return labels
    const vouchers = labels.value.length
    const { host } = context
    const drawn = await withProgress(
      host,
      `Drawing ${number(vouchers, 'voucher')}`,
      htmlOf({ labels: labels.value, paper }, host.signal),
    )
    if (host.signal.aborted) return interrupted
    if (context.dryRun) return context.plan(`write ${number(vouchers, 'voucher')} to ${out}`)
    const { createFile, replaceFile } = await import('../../../files/replace-file.js')
    let isNew = true
    const failure = files.tryToWrite(out, 'Check its folder and permissions, or name another file.', () => {
      if (force) replaceFile(path, drawn)
      else isNew = createFile(path, drawn, true)
    })
    if (failure !== undefined || !isNew) return failure ?? exists(out)
    if (open) {
      const { openBrowser } = await import('../open/browser.js')
      const isOpened = host.stdout.isTTY === true && (await openBrowser(host, pathToFileURL(path).href))
      if (!isOpened) context.output.notice(`No browser was opened. Open this file in one: ${path}`)
    }
    return { ok: true, data: { vouchers, pages: Math.ceil(vouchers / CARDS_PER_PAGE), paper, out } }
  },
})

const exists = (out: string) =>
  fail('FILE_UNWRITABLE', `${out} exists and stays as it is.`, 'Name another file, or replace this one with --force.')
