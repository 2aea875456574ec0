import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import process from 'node:process'
import type { Keyring } from '../../domain/keyring.js'
import type { KeyCheck } from '../../store/move/format.js'
import type { MoveSource, MoveTarget } from '../../store/move/session.js'
import { openSqliteSource, openSqliteTarget } from '../../store/move/sqlite-session.js'
import { DatabaseFailure } from '../../store/postgres/errors.js'
import { sqliteProblemOf } from '../../store/sqlite/engine.js'
import { StoreUnusable } from '../../store/store.js'
import { KeysUnusable, keyChecks, loadKeys } from '../keys.js'
import { requireSqliteFolder } from '../served-store.js'

/** Location of a store and its keys, with the options of a server start. */
export interface MovePlace {
  readonly dataDir: string
  readonly databaseUrl?: string
  readonly keyFile?: string
}

/** Receives the number of rows exported or imported so far, and the total. */
export type Progress = (done: number, total: number) => void

/** Thrown for an export or import that has changed nothing: the caller aborted it, or a file or the store is missing. */
export class NotMoved extends Error {
  override readonly name = 'NotMoved'
  constructor(
    readonly code: 'ABORTED' | 'FILE_UNWRITABLE' | 'STORE_NOT_FOUND',
    message: string,
  ) {
    super(message)
  }
}

export const databaseFile = ({ dataDir }: MovePlace): string => join(dataDir, 'voucherctl.db')

/** File with the transport keys of a server on SQLite. */
export const transportKeyFile = ({ dataDir }: MovePlace): string => join(dataDir, 'secure-keys.json')

function sqliteFile(place: MovePlace): string {
  requireSqliteFolder(place.dataDir)
  return databaseFile(place)
}

const postgres = (url: string) => ({ url, env: process.env })

/** Opens a store for an export; undefined if the SQLite file does not exist. @throws StoreUnusable */
export async function openSource(place: MovePlace): Promise<MoveSource | undefined> {
  if (place.databaseUrl === undefined) return openSqliteSource(sqliteFile(place))
  const { openPostgresSource } = await import('../../store/move/postgres-session.js')
  return openPostgresSource(postgres(place.databaseUrl))
}

/** Opens a store for an import. @throws StoreUnusable */
export async function openTarget(place: MovePlace): Promise<MoveTarget> {
  if (place.databaseUrl === undefined) return openSqliteTarget(sqliteFile(place))
  const { openPostgresTarget } = await import('../../store/move/postgres-session.js')
  return openPostgresTarget(postgres(place.databaseUrl))
}

/**
 * Loads the credential keys of a place and checks that they include the keys of the vouchers.
 * @param of name of the file or database that has the vouchers, for the error message
 * @throws KeysUnusable
 */
export function requireKeys({ dataDir, keyFile }: MovePlace, known: readonly KeyCheck[], of: string): Keyring {
  const path = keyFile ?? join(dataDir, 'keys.json')
  const { credentials } = loadKeys(path, false, randomBytes)
  const checks = keyChecks(credentials)
  const wrong = known.filter((it) => checks.get(it.key_id) !== it.key_check).map((it) => it.key_id)
  if (wrong.length === 0) return credentials
  throw new KeysUnusable(
    `${of} was made with credential key ${wrong.join(', ')}, which ${path} lacks or has with another value. Copy keys.json of the server that it comes from into ${dataDir}, or name it with --key-file.`,
  )
}

/** Converts a database error to an error with a message for operators; returns other errors unchanged. */
export function explainDatabaseError(error: unknown, name: string, outcome: string): unknown {
  if (error instanceof DatabaseFailure) {
    const what = error.isOutage || error.problem === 'busy' ? 'DATABASE_UNREACHABLE' : 'STORE_UNUSABLE'
    return new StoreUnusable(what, `${name} failed (${error.message}). ${outcome}`, { cause: error })
  }
  if (sqliteProblemOf(error) === null) return error
  return new StoreUnusable('STORE_UNUSABLE', `${name} failed (${(error as Error).message}). ${outcome}`, {
    cause: error,
  })
}
