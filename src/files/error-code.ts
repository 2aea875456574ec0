/** Code of a system error, such as ENOENT. Print only the code: other members may hold received bytes. */
export function codeOf(error: unknown, otherwise = 'unknown reason'): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : otherwise
}

/** True if a system error says that the path does not exist. */
export const isMissing = (error: unknown) => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR'
