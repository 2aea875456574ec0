import { createReadStream } from 'node:fs'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

/** A change of the file system. Paths are absolute; a write without an offset appends. */
export type DiskEvent =
  | { readonly kind: 'create'; readonly path: string; readonly isEmptied: boolean }
  | { readonly kind: 'write'; readonly path: string; readonly offset: number | undefined; readonly bytes: Buffer }
  | { readonly kind: 'truncate'; readonly path: string; readonly size: number }
  | { readonly kind: 'mkdir' | 'remove'; readonly path: string }
  | { readonly kind: 'rename' | 'link'; readonly from: string; readonly path: string }
  /** A sync covers the changes before its begin, and only once it has ended. */
  | { readonly kind: 'sync begin' | 'sync end'; readonly path: string; readonly id: string }

const CALLS = [
  'open,openat,creat,mkdir,mkdirat,rmdir,unlink,unlinkat,rename,renameat,renameat2,link,linkat',
  'write,writev,pwrite64,pwritev,pwritev2,truncate,ftruncate,fsync,fdatasync',
  // The model has none of these; a program that uses one of them must extend it.
  'fallocate,copy_file_range,sendfile,sync_file_range,syncfs,sync',
].join(',')

/** Options of strace: complete texts in hexadecimal, and the path of each descriptor. */
export const straceOptions = [
  '-f',
  '-y',
  '-xx',
  '-s',
  '100000000',
  '--seccomp-bpf',
  '-e',
  'signal=none',
  '-e',
  `trace=${CALLS}`,
]

/** Reads the changes of files below a folder from a trace that strace wrote, in their order. */
export async function* readTrace(trace: string, folder: string): AsyncGenerator<DiskEvent> {
  /** Calls that other threads interrupted, by process id. */
  const unfinished = new Map<string, string>()
  const isBelow = ({ path }: DiskEvent) => path.startsWith(`${folder}/`)
  for await (const line of createInterface({ input: createReadStream(trace) })) {
    const [, pid = '', text = ''] = /^(\d+) +(.*)$/.exec(line) ?? []
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1]
    if (resumed === undefined && text.endsWith(' <unfinished ...>')) {
      const begun = text.slice(0, -' <unfinished ...>'.length)
      unfinished.set(pid, begun)
      yield* syncOf('sync begin', begun, pid).filter(isBelow)
      continue
    }
    const call = resumed === undefined ? text : `${unfinished.get(pid)}${resumed}`
    // A failed call changes nothing; a sync that fails covers nothing.
    const result = / = (\d+)/.exec(call.slice(call.lastIndexOf(')')))?.[1]
    if (result === undefined) continue
    if (resumed === undefined) yield* syncOf('sync begin', call, pid).filter(isBelow)
    yield* syncOf('sync end', call, pid).filter(isBelow)
    yield* eventsOf(call, Number(result)).filter(isBelow)
  }
}

const SYNC = /^f(?:data)?sync\(\d+<([^>]*)>/

function syncOf(kind: 'sync begin' | 'sync end', call: string, pid: string): DiskEvent[] {
  const path = SYNC.exec(call)?.[1]
  return path === undefined ? [] : [{ kind, path: decode(path).toString(), id: pid }]
}

const decode = (hex: string) => Buffer.from(hex.replaceAll('\\x', ''), 'hex')

/** The arguments of a call: paths of descriptors, texts, and numbers or flags. */
interface Arguments {
  /** Paths of the descriptors. */
  readonly opened: readonly string[]
  readonly texts: readonly Buffer[]
  /** The arguments that are neither descriptors nor texts. */
  readonly rest: readonly string[]
}

function argumentsOf(call: string): Arguments {
  const opened: string[] = []
  const texts: Buffer[] = []
  const rest: string[] = []
  const end = call.lastIndexOf(')')
  for (const [word, path, text] of call
    .slice(call.indexOf('(') + 1, end)
    .matchAll(/[-\w]+<([^>]*)>|"([^"]*)"|[^,\s"]+/g)) {
    if (path !== undefined) opened.push(decode(path).toString())
    else if (text !== undefined) texts.push(decode(text))
    else rest.push(word)
  }
  return { opened, texts, rest }
}

function eventsOf(call: string, result: number): DiskEvent[] {
  const name = call.slice(0, call.indexOf('('))
  if (name === 'fsync' || name === 'fdatasync') return []
  const { opened, texts, rest } = argumentsOf(call)
  const pathAt = (index: number) =>
    resolve(opened[name.endsWith('at') || name === 'renameat2' ? index : -1] ?? '/', String(texts[index]))
  const path = opened[0] ?? '/'
  const last = Number(rest.at(-1))
  switch (name) {
    case 'open':
    case 'openat':
    case 'creat': {
      const flags = rest[0] ?? ''
      const isEmptied = name === 'creat' || flags.includes('O_TRUNC')
      return isEmptied || flags.includes('O_CREAT') ? [{ kind: 'create', path: pathAt(0), isEmptied }] : []
    }
    case 'write':
    case 'writev':
      return [{ kind: 'write', path, offset: undefined, bytes: Buffer.concat(texts).subarray(0, result) }]
    case 'pwrite64':
    case 'pwritev':
      return [{ kind: 'write', path, offset: last, bytes: Buffer.concat(texts).subarray(0, result) }]
    case 'truncate':
      return [{ kind: 'truncate', path: pathAt(0), size: last }]
    case 'ftruncate':
      return [{ kind: 'truncate', path, size: last }]
    case 'mkdir':
    case 'mkdirat':
      return [{ kind: 'mkdir', path: pathAt(0) }]
    case 'rmdir':
    case 'unlink':
    case 'unlinkat':
      return [{ kind: 'remove', path: pathAt(0) }]
    case 'rename':
    case 'renameat':
    case 'renameat2':
      return [{ kind: 'rename', from: pathAt(0), path: pathAt(1) }]
    case 'link':
    case 'linkat':
      return [{ kind: 'link', from: pathAt(0), path: pathAt(1) }]
    default:
      throw new Error(`the model of a disk has no ${name}: ${call.slice(0, 200)}`)
  }
}
