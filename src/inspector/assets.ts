import { createHash } from 'node:crypto'
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

/** Headers of every response below /_platform (rules/operator.md#page-headers). */
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
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
}

/** Root of the package, both from src/inspector/ and from a folder of dist/. */
const root = () => new URL('../../', import.meta.url)
let version: Promise<string> | undefined

/** @throws if a program has the server in a bundle of its own, without the package around it */
export async function packageVersion(): Promise<string> {
  version ??= promises.readFile(new URL('package.json', root())).then((it) => JSON.parse(String(it)).version as string)
  return version
}

/** Files of the page by name. All are read together: an update may replace them, and files of two builds differ. */
let files: Promise<ReadonlyMap<string, Buffer>> | undefined

async function readFiles(): Promise<ReadonlyMap<string, Buffer>> {
  const folder = 'dist/inspector'
  const names = (await promises.readdir(new URL(folder, root()))).sort()
  const read = async (name: string) => [name, await promises.readFile(new URL(`${folder}/${name}`, root()))] as const
  return new Map(await Promise.all(names.map(read)))
}

/** Reads the files at the first request. */
function pageFiles() {
  files ??= readFiles()
  // A build may be writing a file, so the next request tries again.
  files.catch(() => {
    files = undefined
  })
  return files
}

/** Checksum of the page's files. */
export async function pageBuild(): Promise<string> {
  const hash = createHash('sha256')
  for (const bytes of (await pageFiles()).values()) hash.update(bytes)
  return hash.digest('hex').slice(0, 16)
}

/** Returns a file of the page: the HTML file for every path without an extension, which names a view. */
export async function fileResponse(path: string): Promise<PageResponse | undefined> {
  const name = /\.\w+$/.test(path) ? path : 'index.html'
  const body = (await pageFiles()).get(name)
  const type = types[name.slice(name.lastIndexOf('.') + 1)]
  return body && type ? { status: 200, headers: { ...pageHeaders, 'content-type': type }, body } : undefined
}

export function jsonResponse(data: object): PageResponse {
  const headers = { ...pageHeaders, 'content-type': 'application/json; charset=utf-8' }
  return { status: 200, headers, body: JSON.stringify(data) }
}
