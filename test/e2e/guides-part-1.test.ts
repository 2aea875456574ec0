import { testDocuments } from './documents.js'

// The guides have two files, which run beside each other.
testDocuments({
  'src/guides/first-steps.md': [
    /Reversed\./,
    /(?:Every row has its voucher: 100 of 100\.[^]*){2}/,
    /stopped\. Its data folder is \S+\/ci-data\./,
  ],
  'src/guides/local-webhooks.md': [
    /nothing listens on port/,
    /^1-1 {2}message #\d+ {2}200 {2}\d+ ms {2}http:\/\/localhost:\d+\/hook$/m,
    // The app, which runs beside the commands, may print between the two lines.
    /^Nothing to show: .*inbox holds 1 delivery; none matches --failed\. 1 refused: see them with --verdict refused\.$/m,
    /^\{"time":.*"verdict":"ok".*"type":"ping".*"status":200/m,
    /ok +my_chat_member #1 +200/,
  ],
  'src/guides/page.md': [/^http:\/\/127\.0\.0\.1:\d+\/_platform\/ui\/#ticket=\S+$/m],
  'src/guides/agents.md': [/server_state/, /Saved before/, /has stopped/],
  'src/guides/webhook-library.md': [/^ping \d+$/m, /ping {2}204/, /401.*tamper/, /204.*duplicate/],
  'src/guides/load-tests.md': [/✓ 100 of 100 calls succeeded in \d+\.\d s\.\n\nin ms /, /✓ p99<5s /],
})
