import { type FileHandle, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { getHeapStatistics } from 'node:v8'
import { platform } from '../../files/platform.js'
import type { Failure } from '../failures/failure.js'
import { columnsOf, csvRows, encodeCsv, encodeJson, encodeYaml } from './encode.js'
import { jqOutOfMemory } from './jq.js'
import type { View } from './outcome.js'
import type { Output } from './output.js'
import { type List, refuseUnknownInResult, selectFields } from './select-fields.js'
import { type Layout, showRows } from './show.js'
import { plain, sentence } from './text.js'

/**
 * Prints a list page by page to save memory. Lines (jsonl) and tables are printed as pages arrive. A single document
 * (json, yaml, csv) is buffered on disk, so that a list that fails half-way prints nothing to stdout. With --jq the
 * document is held in memory.
 */
export async function printPages(
  output: Output,
  pages: AsyncGenerator<List, Failure | undefined>,
  view: View<unknown> = {},
): Promise<Failure | undefined> {
  const writer = writerFor(output, view)
  const { fields, shape } = output.options
  const { gone } = output.host.stdout
  let items = 0
  try {
    for (;;) {
      const next = await pages.next()
      if (next.done) {
        if (next.value !== undefined) return next.value
        break
      }
      const page = next.value
      if (fields !== undefined && items === 0) {
        const unknown = refuseUnknownInResult(page, fields, shape)
        if (unknown !== undefined) return unknown
      }
      const shown = fields === undefined ? page : (selectFields(page, fields) as List)
      const refusal = await writer.add(shown, page)
      if (refusal !== undefined) return refusal
      items += page.items.length
      // Fetch no more pages if the filter failed or the reader has closed the pipe.
      if (output.filterError !== undefined || gone?.aborted) return undefined
    }
    await writer.end(items)
    return undefined
  } finally {
    await writer.close?.()
  }
}

/** Maximum bytes of a document for --jq: jq has 256 MiB of memory, which is too little for 60 MB of small records. */
const JQ_DOCUMENT_MAX = 64 * 1024 * 1024
/** Maximum fraction of the heap limit for a --jq document: V8 aborts the process when the heap is full. */
const HEAP_FRACTION_MAX = 1 / 4

interface Writer {
  /** Adds a page. @returns the failure if the list cannot be printed */
  add(shown: List, page: List): Promise<Failure | undefined>
  end(items: number): Promise<void>
  close?(): Promise<void>
}

function writerFor(output: Output, view: View<unknown>): Writer {
  const { format, filter } = output.options
  if (filter !== undefined && format !== 'jsonl') return filteredDocument(output)
  return { jsonl: lines, json, yaml, csv, table }[format](output, view)
}

/** Builds the pagination member of a list as if it were one page. */
const paginationOf = (items: number) => ({ page: 1, limit: items, total: items, pages: 1 })

/** Prints a list line by line; a filter runs on each item separately. */
const lines = (output: Output): Writer => ({
  async add({ items }) {
    const text = items.map((it) => encodeJson(it)).join('')
    await output.write(output.options.filter === undefined ? text : await output.filtered(text))
  },
  async end() {},
})

/**
 * Runs the filter on the whole list as one document, as `--json` prints it. The document is in buffers outside of the
 * JavaScript heap, and jq parses it in a thread, so that a list that is too long is a failure and no crash.
 */
function filteredDocument(output: Output): Writer {
  const pieces: Uint8Array[] = [Buffer.from('{"items":[')]
  const bytesMax = Math.min(JQ_DOCUMENT_MAX, getHeapStatistics().heap_size_limit * HEAP_FRACTION_MAX)
  let bytes = 0
  return {
    async add({ items }) {
      if (items.length === 0) return
      const page = Buffer.from(items.map((it) => JSON.stringify(it)).join(','))
      pieces.push(Buffer.from(bytes === 0 ? '' : ','), page)
      bytes += page.length
      if (bytes > bytesMax) return jqOutOfMemory()
    },
    async end(items) {
      pieces.push(Buffer.from(`],"pagination":${JSON.stringify(paginationOf(items))}}`))
      await output.write(await output.filtered(Buffer.concat(pieces)))
    },
  }
}

function json(output: Output): Writer {
  const spool = new Spool()
  let separator = '\n'
  return {
    async add({ items }) {
      for (const item of items) {
        const indented = encodeJson(item, 2).trimEnd().replaceAll('\n', '\n    ')
        await spool.write(`${separator}    ${indented}`)
        separator = ',\n'
      }
    },
    async end(items) {
      const pagination = encodeJson(paginationOf(items), 2).trimEnd().replaceAll('\n', '\n  ')
      await spool.write(`${items === 0 ? '' : '\n  '}],\n  "pagination": ${pagination}\n}\n`)
      await output.write('{\n  "items": [')
      await spool.copy((text) => output.write(text))
    },
    close: () => spool.close(),
  }
}

function yaml(output: Output): Writer {
  const spool = new Spool()
  return {
    async add({ items }) {
      if (items.length === 0) return
      const text = await encodeYaml({ items })
      // Omit the line `items:`, which precedes the items of each page.
      await spool.write(text.slice(text.indexOf('\n') + 1))
    },
    async end(items) {
      await output.write(items === 0 ? 'items: []\n' : 'items:\n')
      await spool.copy((text) => output.write(text))
      const pagination = Object.entries(paginationOf(items)).map(([name, value]) => `  ${name}: ${value}\n`)
      await output.write(`pagination:\n${pagination.join('')}`)
    },
    close: () => spool.close(),
  }
}

/** Prints a list as CSV. It buffers all rows, because the last page may add a column to the header. */
function csv(output: Output): Writer {
  const spool = new Spool()
  const columns = new Set<string>()
  const onTerminal = output.host.stdout.isTTY === true
  return {
    async add({ items }) {
      for (const name of columnsOf(items)) columns.add(name)
      await spool.write(items.map((it) => encodeJson(it)).join(''))
    },
    async end(items) {
      if (items === 0) await output.write(await encodeCsv([], output.options.fields))
      let rest = ''
      let header = true
      await spool.copy(async (text) => {
        const whole = (rest + text).split('\n')
        rest = whole.pop() ?? ''
        if (whole.length === 0) return true
        const rows = await csvRows(
          whole.map((it) => JSON.parse(it)),
          [...columns],
          header,
          onTerminal,
        )
        header = false
        return output.write(rows)
      })
    },
    close: () => spool.close(),
  }
}

/** Prints a list as a table, page by page; each page can only widen the columns of the pages before it. */
function table(output: Output, view: View<unknown>): Writer {
  const onlyFields = output.options.fields !== undefined
  let layout: Layout | undefined
  let hasBody = false
  return {
    async add(shown, page) {
      if (page.items.length === 0) return
      const ids = output.ids(page, view)
      if (ids !== undefined) return void (await output.write(ids))
      const { times } = output
      const body = onlyFields ? undefined : sentence((it) => view.body?.(it, times), { ...page, pagination: null })
      if (body !== undefined) {
        await output.write(`${hasBody ? '\n' : ''}${plain(body)}\n`)
        hasBody = true
        return
      }
      const members = onlyFields ? undefined : view.members
      const rows = showRows(shown.items, members, await output.screen(), layout)
      layout = rows.layout
      await output.write(rows.text)
    },
    async end(items) {
      if (items === 0) await output.print({ items: [] }, view)
      if (layout?.cutsIds) output.noteCutIds()
    },
  }
}

/** Number of characters above which the text moves to a file. */
const IN_MEMORY_MAX = 4 * 1024 * 1024
const CHUNK_BYTES = 1024 * 1024

/** A text buffer that moves to a private temporary file above a size limit. */
class Spool {
  #waiting: string[] = []
  #length = 0
  #file: { readonly handle: FileHandle; readonly path: string } | undefined

  async write(text: string): Promise<void> {
    this.#waiting.push(text)
    this.#length += text.length
    if (this.#length >= IN_MEMORY_MAX) await this.#flush()
  }

  /** Passes the whole text to `take`, piece by piece in order; stops when `take` resolves to false. */
  async copy(take: (text: string) => Promise<boolean>): Promise<void> {
    if (this.#file !== undefined) {
      await this.#flush()
      const decoder = new TextDecoder()
      const bytes = Buffer.alloc(CHUNK_BYTES)
      for (let at = 0; ; ) {
        const { bytesRead } = await this.#file.handle.read(bytes, 0, CHUNK_BYTES, at)
        if (bytesRead === 0) return
        at += bytesRead
        if (!(await take(decoder.decode(bytes.subarray(0, bytesRead), { stream: true })))) return
      }
    }
    for (const text of this.#waiting) if (!(await take(text))) return
  }

  async close(): Promise<void> {
    this.#waiting = []
    if (this.#file === undefined) return
    await this.#file.handle.close()
    await rm(this.#file.path, { force: true })
    this.#file = undefined
  }

  async #flush(): Promise<void> {
    this.#file ??= await create()
    await this.#file.handle.appendFile(this.#waiting.join(''))
    this.#waiting = []
    this.#length = 0
  }
}

/** Creates the file and unlinks it while it is open, if the system permits that, so that kill -9 leaves no file. */
async function create() {
  const path = join(tmpdir(), `voucherctl-${crypto.randomUUID()}`)
  const handle = await open(path, 'wx+', 0o600)
  if (platform.removesOpenFiles) await rm(path)
  return { handle, path }
}
