import { execFileSync } from 'node:child_process'

/** Date and commit of a result that is recorded now, with `+changes` if the tree differs from the commit. */
export function revision(root) {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  const commit = git('rev-parse', '--short=8', 'HEAD')
  return {
    date: new Date().toISOString().slice(0, 10),
    commit: git('status', '--porcelain') === '' ? commit : `${commit}+changes`,
  }
}
