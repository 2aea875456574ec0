/** Code of a system error, such as ENOENT. Print only the code: other members may hold received bytes. */
export function codeOf(error: unknown, otherwise = 'unknown reason'): string {
  // Not `instanceof Error`: in Jest and in vmThreads of Vitest, errors of Node have another class.
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : otherwise
}

/** True if a system error says that the path does not exist. */
export const isMissing = (error: unknown) => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'

const inWords = new Map([
  ['EACCES', 'you may not write there'],
  ['EEXIST', 'a file or a broken link is in its place'],
  ['ENOENT', 'the file system allows no folder there'],
])

/** Ends a sentence such as `FILE cannot be written` with the reason; for an error of `makeFolder`, names the folder. */
export function reasonOf(error: unknown): string {
  const code = codeOf(error)
  if (code === 'FILE_TOO_LARGE') return ': it is larger than 16 MiB'
  if (code === 'NOT_A_FILE') return ': a folder, pipe or device is in the place of a file'
  const { syscall, path } = error as Partial<NodeJS.ErrnoException>
  const words = inWords.get(code)
  return syscall === 'mkdir'
    ? `: the folder ${path} cannot be made (${words ? `${words}, ` : ''}${code})`
    : ` (${code})`
}
