import { promises } from 'node:fs'

/** Response of a page route, for the server and for a listener. */
export interface PageResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
]

/** Headers of every response below /_platform (RULES.md#page-headers). */
export const platformHeaders = {
  'cache-control': 'no-store',
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
} as const

const pageHeaders = {
  ...platformHeaders,
  'content-security-policy': policy.join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
}

const types: Readonly<Record<string, string>> = {
  'app.css': 'text/css; charset=utf-8',
  'app.js': 'text/javascript; charset=utf-8',
  'detail.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
  'index.html': 'text/html; charset=utf-8',
}

/** Root of the package, both from src/inspector/ and from a folder of dist/. */
const root = new URL('../../', import.meta.url)
const read = new Map<string, Promise<Buffer>>()

function readOnce(path: string): Promise<Buffer> {
  const known = read.get(path)
  if (known !== undefined) return known
  const reading = promises.readFile(new URL(path, root))
  read.set(path, reading)
  // A build may be writing the file, so the next request tries again.
  reading.catch(() => read.delete(path))
  return reading
}

export async function packageVersion(): Promise<string> {
  return (JSON.parse(String(await readOnce('package.json'))) as { version: string }).version
}

/** Returns a file of the page: the HTML file for every path without an extension, which names a view. */
export async function fileResponse(path: string): Promise<PageResponse | undefined> {
  const name = /\.\w+$/.test(path) ? path : 'index.html'
  const type = Object.hasOwn(types, name) ? types[name] : undefined
  if (type === undefined) return undefined
  // Read all files together: an update may replace them, and scripts of two builds are incompatible.
  await Promise.all(Object.keys(types).map((it) => readOnce(`dist/inspector/${it}`)))
  return {
    status: 200,
    headers: { ...pageHeaders, 'content-type': type },
    body: await readOnce(`dist/inspector/${name}`),
  }
}

export function jsonResponse(data: object): PageResponse {
  const headers = { ...pageHeaders, 'content-type': 'application/json; charset=utf-8' }
  return { status: 200, headers, body: JSON.stringify(data) }
}
