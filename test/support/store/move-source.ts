import { copyFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'vitest'
import { run } from '../../../src/store/operation.js'
import { openSqliteStore } from '../../../src/store/sqlite/store.js'
import { built } from '../cli/built-cli.js'
import { standaloneServer } from '../server/server.js'

const NAME_LENGTH = 3_500

/** The data folder of a stopped server with applications of 3.5 KB each, and an export of that folder. */
export interface MoveFolders {
  readonly source: string
  readonly file: string
  /** Creates a data folder with the keys of the source and no database. */
  newTarget(): string
}

export async function fillMoveFolders(home: string, rows: number): Promise<MoveFolders> {
  const source = join(home, 'source')
  const file = join(home, 'backup.ndjson')
  await (await standaloneServer({ dataDir: source })).close()
  const store = openSqliteStore(join(source, 'voucherctl.db'))
  await store.write(function* () {
    const values = `'acme', printf('%0${NAME_LENGTH}d', i), null, 'active', 0, '[]', '[]', 'optional', 1, 2`
    yield* run(`with recursive n (i) as (select 1 union all select i + 1 from n where i < ${rows})
      insert into applications select printf('app_%09d', i), ${values} from n`)
  })
  await store.close()
  expect((await built.run(['server', 'export', '--data', source, '--out', file], home)).exit).toBe(0)
  let targets = 0
  return {
    source,
    file,
    newTarget() {
      const dir = join(home, `target-${++targets}`)
      mkdirSync(dir)
      copyFileSync(join(source, 'keys.json'), join(dir, 'keys.json'))
      return dir
    },
  }
}
