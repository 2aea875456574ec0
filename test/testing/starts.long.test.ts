import { test } from 'vitest'
import { expectNothingLeft } from './starts.js'

// A leaked server takes more than 100 KB.
test(
  '1,000 starts leave no handle, listener, file or memory behind and print nothing',
  () => expectNothingLeft(1_000, 2_000),
  300_000,
)
