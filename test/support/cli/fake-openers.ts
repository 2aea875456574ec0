import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryDir } from './cli.js'

/** A PATH with programs that write their arguments to a file instead of opening a browser. */
export function fakeOpeners() {
  const dir = temporaryDir()
  const opened = join(dir, 'opened')
  const script = `#!/bin/sh\nprintf '%s\\n' "$#" "$@" >${opened}.part\nenv >>${opened}.part\nmv ${opened}.part ${opened}\n`
  for (const name of ['open', 'xdg-open']) writeFileSync(join(dir, name), script, { mode: 0o700 })
  return { opened, path: `${dir}:${process.env.PATH}` }
}
