/** Code of a system error, such as ENOENT. Print only the code: other members may hold received bytes. */
export function codeOf(error: unknown, otherwise = 'unknown reason'): string {
  // Not `instanceof Error`: in Jest and in vmThreads of Vitest, errors of Node have another class.
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : otherwise
}

/** True if a system error says that the path does not exist. */
export const isMissing = (error: unknown) => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'
