/** Holds the place of a handler while the branch is being built; nothing of it stays. */
export const notYet = async (): Promise<never> => {
  throw new Error('not built yet')
}
