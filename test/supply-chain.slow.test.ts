import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, test } from 'vitest'

test('npm pack is reproducible and includes every file that the README links to', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'voucherctl-pack-'))
  try {
    const pack = async () => {
      const args = ['pack', '--ignore-scripts', '--offline', '--json', '--pack-destination', folder]
      const { stdout } = await execa('npm', args, { cwd: new URL('..', import.meta.url) })
      const [packed] = JSON.parse(stdout) as { integrity: string; files: { path: string }[] }[]
      return packed as NonNullable<typeof packed>
    }
    const one = await pack()
    expect((await pack()).integrity).toBe(one.integrity)
    const allowed = ['bin', 'dist', 'completions', 'CHANGELOG.md', 'LICENSE', 'README.md', 'package.json']
    const documents = one.files
      .filter(({ path }) =>
        /^(src|test)\/.*\.(md|png|svg)$|^src\/(guides\/quickstart\.yaml$|testing\/example\/)/.test(path),
      )
      .map(({ path }) => path)
    const others = one.files.filter(
      ({ path }) => !documents.includes(path) && !allowed.includes(path.split('/')[0] ?? ''),
    )
    expect(others).toEqual([])
    const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8')
    const links = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, link]) => link)
    expect(links.length).toBeGreaterThan(3)
    expect(links.filter((link) => !one.files.some(({ path }) => path === link))).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
