import { renameSync, writeFileSync } from 'node:fs'
import { updateTypes } from '../../../contract/updates.js'
import { inboxBytes } from '../../../workbench/inbox/files.js'
import type { Context } from '../../command/context.js'
import type { ListenFlags } from './listen.js'

const INBOX_BYTES_LARGE = 1024 ** 3

/** Whoever sees the file sees it whole. */
export function writeReadyFile(path: string, { url, port }: { url: string; port: number }): void {
  const aside = `${path}.${process.pid}`
  writeFileSync(aside, `${JSON.stringify({ url, port, pid: process.pid })}\n`)
  renameSync(aside, path)
}

/** For a person: also where stderr is no terminal, since somebody waits for it. */
export function sayReady({ output }: Context, flags: ListenFlags, url: string, dir: string): void {
  if (output.options.format !== 'table') return
  const unknown = [...flags.expect.keys(), ...flags.route.keys()].filter(
    (it) => !updateTypes.some((type) => type === it),
  )
  for (const type of new Set(unknown)) output.notice(`warning: no update of the reference server has the type ${type}.`)
  const routes = [...flags.route].map(([type, to]) => `${type} to ${to.href}`)
  const rest =
    flags['forward-to'] === undefined ? [] : [`${routes.length > 0 ? 'others ' : ''}to ${flags['forward-to'].href}`]
  const where = [...routes, ...rest].join(', ')
  const answers =
    flags.respond === undefined ? 'Nothing is passed on; the answer is 200.' : `Answers ${flags.respond.join(', ')}.`
  const large = inboxBytes(dir) > INBOX_BYTES_LARGE
  output.notice(
    [
      `Ready on ${url}. Ctrl-C stops it.`,
      where === '' ? answers : `Passes on ${where}.`,
      `Inbox: ${dir}`,
      `Details of a line: voucherctl webhook inbox show ID${flags.inbox === undefined ? '' : ` --inbox ${flags.inbox}`}`,
      ...(large ? ['warning: the inbox is above 1 GiB; see voucherctl webhook inbox clear --before 7d.'] : []),
      ...(flags.insecure ? ['INSECURE: deliveries that are not verified are shown too.'] : []),
    ].join('\n'),
  )
}
