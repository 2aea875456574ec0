import { test } from 'vitest'
import { expectNothingLeft } from './starts.js'

// A leaked server takes more than 100 KB; compiled code and caches still grow.
test('50 starts leave no handle, listener or file behind and print nothing', () => expectNothingLeft(50, 100_000))
