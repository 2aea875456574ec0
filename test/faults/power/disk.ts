import { mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../random.js'
import type { DiskEvent } from './trace.js'

const SECTOR = 512

/** Numbers of the events at which a sync began and ended. */
interface Sync {
  readonly begin: number
  end: number
}

type Change = { readonly at: number } & (
  | { readonly offset: number; readonly bytes: Buffer }
  | { readonly size: number }
)

interface File {
  readonly changes: Change[]
  readonly syncs: Sync[]
  size: number
}

/** A name that a folder gets (`node`) and loses (`removed`); a rename does both at once. */
interface NameChange {
  readonly at: number
  readonly name?: { readonly added: string; readonly node: Node }
  readonly removed?: string
}

interface Folder {
  readonly changes: NameChange[]
  readonly syncs: Sync[]
  /** The names as the running programs see them. */
  readonly names: Map<string, Node>
}

type Node = File | Folder

/** Files by path relative to the root of the disk, and the folders. */
export interface DiskState {
  readonly files: Map<string, Buffer>
  readonly folders: readonly string[]
}

/** How much of the changes after the last sync of a file or folder survives. */
type Survival = (random: Random) => boolean

const always: Survival = () => true
const never: Survival = () => false
const survivals: readonly Survival[] = [
  always,
  never,
  (random) => random.chance(0.5),
  (random) => random.chance(0.1),
  (random) => random.chance(0.9),
]

const isFolder = (node: Node): node is Folder => 'names' in node
const newFolder = (): Folder => ({ changes: [], syncs: [], names: new Map() })

/**
 * A model of a disk that a power failure may stop after any event. Only what a completed sync of the same file or
 * folder covers is certain. Of later writes any sectors survive, in any order, also those beyond a lost one: the file
 * then has zeros between them. Of later changes of a folder the first ones survive, as in a journaling file system, but
 * each folder by itself: neither a sync of a file nor of another folder makes a new name certain.
 */
export class Disk {
  readonly #root: string
  readonly #top = newFolder()
  readonly #begun = new Map<string, { readonly node: Node; readonly begin: number }>()
  /** Number of events so far. */
  events = 0

  /** @param root path of an empty folder that itself is certain */
  constructor(root: string) {
    this.#root = root
  }

  /** @param isDone false for the end of a sync that shall have no effect */
  add(event: DiskEvent, isDone = true): void {
    const at = this.events++
    switch (event.kind) {
      case 'create': {
        const known = this.#find(event.path) as File | undefined
        if (known === undefined) this.#name(at, event.path, { changes: [], syncs: [], size: 0 })
        else if (event.isEmptied) this.#resize(at, known, 0)
        return
      }
      case 'write': {
        const file = this.#find(event.path) as File | undefined
        if (file === undefined) return
        const { bytes, offset = file.size } = event
        file.changes.push({ at, offset, bytes })
        file.size = Math.max(file.size, offset + bytes.length)
        return
      }
      case 'truncate': {
        const file = this.#find(event.path)
        if (file !== undefined) this.#resize(at, file as File, event.size)
        return
      }
      case 'mkdir':
        return this.#name(at, event.path, newFolder())
      case 'remove':
        return this.#rename(at, event.path)
      case 'link':
        return this.#name(at, event.path, this.#find(event.from) as Node)
      case 'rename':
        return this.#rename(at, event.from, event.path)
      case 'sync begin': {
        const node = this.#find(event.path)
        if (node !== undefined) this.#begun.set(event.id, { node, begin: at })
        return
      }
      case 'sync end': {
        const { node, begin } = this.#begun.get(event.id) ?? {}
        if (isDone && node !== undefined && begin !== undefined) node.syncs.push({ begin, end: at })
        this.#begun.delete(event.id)
      }
    }
  }

  /** Returns what a power failure after the first `events` events leaves. */
  stateAfter(events: number, random: Random): DiskState {
    const survives = random.pick(survivals)
    return stateOf(this.#top, events, random, () => (random.chance(0.5) ? survives : random.pick(survivals)))
  }

  /** Returns what the programs saw at the end, without a power failure. */
  whole(random: Random): DiskState {
    return stateOf(this.#top, this.events, random, () => always)
  }

  #resize(at: number, file: File, size: number): void {
    file.changes.push({ at, size })
    file.size = size
  }

  #name(at: number, path: string, node: Node): void {
    const { folder, name } = this.#placeOf(path)
    folder.changes.push({ at, name: { added: name, node } })
    folder.names.set(name, node)
  }

  #rename(at: number, from: string, to?: string): void {
    const { folder, name } = this.#placeOf(from)
    const node = folder.names.get(name)
    folder.names.delete(name)
    if (to === undefined || node === undefined) return void folder.changes.push({ at, removed: name })
    const target = this.#placeOf(to)
    if (target.folder !== folder) throw new Error(`the model of a disk moves no file between folders: ${from}, ${to}`)
    folder.changes.push({ at, removed: name, name: { added: target.name, node } })
    folder.names.set(target.name, node)
  }

  #partsOf(path: string): string[] {
    return path === this.#root ? [] : path.slice(this.#root.length + 1).split('/')
  }

  #placeOf(path: string): { folder: Folder; name: string } {
    const parts = this.#partsOf(path)
    const name = parts.pop() as string
    const folder = this.#find(join(this.#root, ...parts))
    if (folder === undefined || !isFolder(folder)) throw new Error(`the trace has no folder for ${path}`)
    return { folder, name }
  }

  #find(path: string): Node | undefined {
    let node: Node | undefined = this.#top
    for (const part of this.#partsOf(path))
      node = node !== undefined && isFolder(node) ? node.names.get(part) : undefined
    return node
  }
}

/** Number of the first event of a file or folder that no sync covers before the power failure. */
const certainBefore = ({ syncs }: Node, events: number) =>
  Math.max(0, ...syncs.filter(({ end }) => end < events).map(({ begin }) => begin))

function stateOf(top: Folder, events: number, random: Random, survivalOf: () => Survival): DiskState {
  const files = new Map<string, Buffer>()
  const folders: string[] = []
  const visit = (folder: Folder, path: string) => {
    for (const [name, node] of namesAfter(folder, events, random, survivalOf())) {
      if (!isFolder(node)) files.set(join(path, name), contentAfter(node, events, random, survivalOf()))
      else {
        folders.push(join(path, name))
        visit(node, join(path, name))
      }
    }
  }
  visit(top, '')
  return { files, folders }
}

function namesAfter(folder: Folder, events: number, random: Random, survives: Survival): Map<string, Node> {
  const names = new Map<string, Node>()
  const certain = certainBefore(folder, events)
  for (const { at, name, removed } of folder.changes) {
    if (at >= events || (at >= certain && !survives(random))) break
    if (removed !== undefined) names.delete(removed)
    if (name !== undefined) names.set(name.added, name.node)
  }
  return names
}

function contentAfter(file: File, events: number, random: Random, survives: Survival): Buffer {
  const certain = certainBefore(file, events)
  const room = Math.max(0, ...file.changes.map((it) => ('size' in it ? it.size : it.offset + it.bytes.length)))
  const content = Buffer.alloc(room)
  // A file system may store the new size of a file before the new bytes.
  const keepsSize = survives === always || (survives !== never && random.chance(0.3))
  let size = 0
  for (const change of file.changes) {
    if (change.at >= events) break
    const isCertain = change.at < certain
    if ('size' in change) {
      if (!isCertain && !survives(random)) continue
      content.fill(0, change.size)
      size = change.size
    } else {
      const { offset, bytes } = change
      const end = offset + bytes.length
      for (let from = offset; from < end; ) {
        const to = isCertain || survives === always ? end : Math.min(end, (Math.floor(from / SECTOR) + 1) * SECTOR)
        if (isCertain || survives(random)) {
          bytes.copy(content, from, from - offset, to - offset)
          size = Math.max(size, to)
        }
        from = to
      }
      if (keepsSize) size = Math.max(size, end)
    }
  }
  return content.subarray(0, size)
}

/** Writes a state into an empty folder. The files are old, because a machine needs a while to start again. */
export function writeState({ files, folders }: DiskState, folder: string): void {
  for (const path of folders) mkdirSync(join(folder, path), { recursive: true, mode: 0o700 })
  for (const [path, content] of files) {
    writeFileSync(join(folder, path), content, { mode: 0o600 })
    utimesSync(join(folder, path), 0, 0)
  }
}
