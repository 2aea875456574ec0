import { testDocuments } from './documents.js'

// The guides have two files, which run beside each other.
testDocuments({
  'src/guides/client-library.md': [/^true true$/m],
  'src/guides/testing.md': [/^(?:# pass|ℹ pass) 1$/m, /^(?:# pass|ℹ pass) 15$/m],
  'src/guides/encryption.md': [/all \d+ steps passed/, /^0 templates, encrypted$/m],
  'src/guides/scenario-files.md': [/2 passed, 0 failed/],
  'src/guides/conformance.md': [/✓ .*: (\d+) of \1 statements hold\./],
  'src/guides/reference-server.md': [/Saved before/],
  'src/guides/running.md': [/Exported (\d+) rows of .*Imported \1 rows into /s],
})
