import { testDocuments } from './documents.js'

testDocuments({
  'README.md': [
    /goods_given_away[^]*exit code 1\n/,
    /Every row has its voucher: 2,000 of 2,000\./,
    /reference +till-4\n/,
    /401.*bad-signature/,
    /^One free coffee\ntrue$/m,
    /One free coffee.*active/s,
    /not redeemable: 2,000 expired\./,
  ],
})
