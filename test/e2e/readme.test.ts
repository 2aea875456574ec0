import { testDocuments } from './documents.js'

testDocuments({
  'README.md': [
    /Every row has its voucher: 2 of 2\./,
    /401.*bad-signature/,
    /^One free coffee\ntrue$/m,
    /One free coffee.*active/s,
  ],
})
