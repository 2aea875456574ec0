import { migrations } from '../sqlite/migrations/index.js'
import { ExportUnusable, FORMAT, type Header } from './format.js'
import { isMoved } from './tables.js'

const isText = (it: unknown): it is string => typeof it === 'string'
const isCount = (it: unknown): it is number => Number.isSafeInteger(it) && (it as number) > 0

/** @throws ExportUnusable */
export function parseHeader(text: string): Header {
  const header = parse(text)
  if (header.format !== FORMAT) {
    throw new ExportUnusable(
      isCount(header.format)
        ? `it was written by a newer voucherctl (${header.version}, format ${header.format}); import it with that version`
        : 'line 1 names no format',
    )
  }
  const { version, schema, dialect, exported_at: at, keys, transport_keys: sealed, rows } = header
  const sound =
    [version, at].every(isText) &&
    isCount(schema) &&
    (dialect === 'sqlite' || dialect === 'postgres') &&
    (sealed === null || isText(sealed)) &&
    Array.isArray(keys) &&
    keys.every((it) => isText(it?.key_id) && isText(it?.key_check)) &&
    typeof rows === 'object' &&
    rows !== null &&
    Object.entries(rows).every(([name, count]) => isMoved(name) && isCount(count))
  if (!sound) throw new ExportUnusable('line 1 is not as it was written')
  if (schema > migrations.length) {
    throw new ExportUnusable(
      `it was written by a newer voucherctl (${version}, schema ${schema}; this one knows ${migrations.length}); import it with that version`,
    )
  }
  return header as Header
}

function parse(text: string): Partial<Header> {
  if (text.endsWith('\r')) throw new ExportUnusable('its line ends were changed to CRLF; copy it as it is, as binary')
  try {
    const header: unknown = JSON.parse(text)
    if (typeof header === 'object' && (header as Partial<Header> | null)?.voucherctl === 'export')
      return header as Header
  } catch {
    // Said below.
  }
  throw new ExportUnusable('line 1 is not that of an export; `voucherctl server export` writes one')
}
