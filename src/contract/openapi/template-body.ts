import { exampleOf } from '../schema.js'
import { templateInput } from '../templates.js'

/** A template body that every platform accepts, for the default seed, probes and tests. */
export const templateBody = exampleOf(templateInput)
