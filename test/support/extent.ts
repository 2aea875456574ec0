/** Whether the slow project runs a file of `sampled` (vitest.config.ts), of which `npm test` has run a part. */
export const isRest = process.env.VOUCHERCTL_TEST_EXTENT === 'rest'

/** `npm test` runs one in this many cases of a sampled grid. */
const STEP = 4

/**
 * The cases of a grid that run here: one in four in `npm test`, the others in the slow project.
 * @param always whether `npm test` runs a case that is not in the sample
 */
export const sampleOf = <T>(cases: readonly T[], always: (it: T) => boolean = () => false): T[] =>
  cases.filter((it, index) => (index % STEP === 0 || always(it)) !== isRest)

/** Whether the long project runs. */
export const isWhole = process.env.VOUCHERCTL_TEST_EXTENT === 'whole'

/** One in four of the cases, in the long project all of them. */
export const someOf = <T>(cases: readonly T[]): T[] => cases.filter((_it, index) => isWhole || index % STEP === 0)
