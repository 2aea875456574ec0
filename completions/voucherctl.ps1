# Completion of voucherctl for PowerShell. Made from the command tree: voucherctl completion powershell

Register-ArgumentCompleter -Native -CommandName @('voucherctl', 'voucherctl.cmd', 'voucherctl.ps1') -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)

    $commands = @{
        '' = @("quickstart`tThe whole story on a throwaway local server", "doctor`tCheck machine, configuration, server and credentials", "login`tStore a credential in a profile", "logout`tRemove the credentials of a profile", "whoami`tShow who the stored credentials are", "profiles`tServers and credentials under a name: list, use, show, set, remove", "project`tWhether this folder's voucherctl.json may name a server: show, allow, deny", "apps`tApplications: list, create, get, update, link-bot, unlink-bot", "tokens`tApplication tokens: list, create, revoke", "templates`tVoucher templates: list, create, submit", "vouchers`tIssue one or many, verify, redeem, reverse", "bots`tBots: apply, token, profile, metrics, send, updates", "webhook`tOf a bot: set, deliveries, retry; local: listen, bridge, trigger ...", "secure`tThe encrypted transport: bootstrap, session, call, check, pin", "api`tAny route by method and path, as JSON or as curl; api routes lists them", "scenario`tSteps in YAML files, played against a server and checked: run", "conform`tWhether a platform behaves like the reference, rule by rule", "server`tThe bundled reference server: start, status, stop, logs, openapi", "open`tThe page of a local server, in the browser", "platform`tThe operator's side: reviews, approvals, chats, clock, faults", "explain`tWhat a failure code means, what causes it, what to do", "commands`tList every command with its flags; --json for scripts", "completion`tCompletion of the shell: bash, zsh, fish, powershell, install", "help`tHelp of a command or a topic")
        'profiles' = @("list`tList the profiles", "use`tMake a profile the current one", "show`tShow a profile, or where each setting comes from", "set`tMake a profile, or change its settings", "remove`tRemove a profile with its credentials")
        'profile' = @("list`tList the profiles", "use`tMake a profile the current one", "show`tShow a profile, or where each setting comes from", "set`tMake a profile, or change its settings", "remove`tRemove a profile with its credentials")
        'project' = @("show`tShow the project file that counts here, and whether it may name its server", "allow`tLet the project file name the server that credentials go to", "deny`tTake the permission back")
        'apps' = @("list`tList the applications of the account", "create`tCreate an application", "get`tRead an application", "update`tChange an application", "link-bot`tLink a bot, so that it can deliver vouchers of the application", "unlink-bot`tUnlink a bot; templates, vouchers and tokens stay")
        'app' = @("list`tList the applications of the account", "create`tCreate an application", "get`tRead an application", "update`tChange an application", "link-bot`tLink a bot, so that it can deliver vouchers of the application", "unlink-bot`tUnlink a bot; templates, vouchers and tokens stay")
        'tokens' = @("list`tList the tokens of an application", "create`tCreate an application token; its full value is shown once", "revoke`tRevoke a token")
        'token' = @("list`tList the tokens of an application", "create`tCreate an application token; its full value is shown once", "revoke`tRevoke a token")
        'templates' = @("list`tList the templates of the application", "get`tOne template, by its id or your own id", "create`tCreate a template as a draft", "submit`tSubmit a draft or rejected template for review", "apply`tCreate and submit the templates of a file that the server lacks", "diff`tCompare a template file with the templates of the server", "init`tWrite a template file to start from")
        'template' = @("list`tList the templates of the application", "get`tOne template, by its id or your own id", "create`tCreate a template as a draft", "submit`tSubmit a draft or rejected template for review", "apply`tCreate and submit the templates of a file that the server lacks", "diff`tCompare a template file with the templates of the server", "init`tWrite a template file to start from")
        'vouchers' = @("issue`tIssue a voucher of an active template to a user", "issue-many`tIssue one voucher for each row of a CSV or NDJSON file", "verify-many`tVerify the voucher of each row of a CSV or NDJSON file", "redeem-many`tRedeem the voucher of each row of a CSV or NDJSON file", "reverse-many`tReverse the redemption of each row of a CSV or NDJSON file", "sheet`tWrite a sheet to print: QR code and text of each voucher of a file", "verify`tCheck whether a voucher can be redeemed", "redeem`tRedeem a voucher", "redemption`tRead a redemption", "reverse`tReverse a redemption")
        'voucher' = @("issue`tIssue a voucher of an active template to a user", "issue-many`tIssue one voucher for each row of a CSV or NDJSON file", "verify-many`tVerify the voucher of each row of a CSV or NDJSON file", "redeem-many`tRedeem the voucher of each row of a CSV or NDJSON file", "reverse-many`tReverse the redemption of each row of a CSV or NDJSON file", "sheet`tWrite a sheet to print: QR code and text of each voucher of a file", "verify`tCheck whether a voucher can be redeemed", "redeem`tRedeem a voucher", "redemption`tRead a redemption", "reverse`tReverse a redemption")
        'bots' = @("list`tList the bots of the account", "apply`tApply for a bot; its token follows the approval", "get`tRead a bot; the first read after the approval shows its token once", "update`tChange the profile of an approved bot", "regenerate-token`tReplace the bot token; the old one stops working immediately", "metrics`tRead the metrics of a bot for the last 24 hours", "send`tSend a message to a chat", "updates`tRead the updates of a bot; offset confirms those before it")
        'bot' = @("list`tList the bots of the account", "apply`tApply for a bot; its token follows the approval", "get`tRead a bot; the first read after the approval shows its token once", "update`tChange the profile of an approved bot", "regenerate-token`tReplace the bot token; the old one stops working immediately", "metrics`tRead the metrics of a bot for the last 24 hours", "send`tSend a message to a chat", "updates`tRead the updates of a bot; offset confirms those before it")
        'webhook' = @("set`tDeliver the updates of a bot to a URL", "delete`tDelete the webhook of a bot; its updates can be polled from then on", "info`tRead how the updates of the calling bot are delivered", "deliveries`tList the deliveries of a bot", "retry`tRetry a delivery immediately, by its delivery id or update_id", "listen`tReceive webhooks on this machine: verify, record, pass on to an application", "inbox`tWhat ``webhook listen`` has recorded", "replay`tSend recorded deliveries to the application again", "bridge`tPoll the updates of a bot and post them, signed, to an app on this machine", "trigger`tSend a made-up update to a receiver, also with a mistake on purpose", "sign`tSign a body as the platform signs a delivery", "verify`tVerify a recorded delivery, and say why it fails")
        'webhooks' = @("set`tDeliver the updates of a bot to a URL", "delete`tDelete the webhook of a bot; its updates can be polled from then on", "info`tRead how the updates of the calling bot are delivered", "deliveries`tList the deliveries of a bot", "retry`tRetry a delivery immediately, by its delivery id or update_id", "listen`tReceive webhooks on this machine: verify, record, pass on to an application", "inbox`tWhat ``webhook listen`` has recorded", "replay`tSend recorded deliveries to the application again", "bridge`tPoll the updates of a bot and post them, signed, to an app on this machine", "trigger`tSend a made-up update to a receiver, also with a mistake on purpose", "sign`tSign a body as the platform signs a delivery", "verify`tVerify a recorded delivery, and say why it fails")
        'webhook inbox' = @("list`tDeliveries that were recorded, the newest last", "show`tOne delivery: headers as received, body, verdict, and what was answered", "clear`tRemove recorded deliveries: all of them, or the old ones")
        'webhooks inbox' = @("list`tDeliveries that were recorded, the newest last", "show`tOne delivery: headers as received, body, verdict, and what was answered", "clear`tRemove recorded deliveries: all of them, or the old ones")
        'secure' = @("bootstrap`tShow what the server says of its encrypted transport", "session`tOpen a session and show it", "call`tMake any call through the encrypted transport", "check`tWalk through the protocol of a server, step by step", "pin`tShow the pin of the server key, or keep it in the profile")
        'scenario' = @("run`tPlay the steps of YAML files and check what comes of them", "init`tWrite a scenario file to start from")
        'scenarios' = @("run`tPlay the steps of YAML files and check what comes of them", "init`tWrite a scenario file to start from")
        'server' = @("start`tStart the reference server", "list`tList the local servers that run, of any data folder and in memory", "env`tPrint export lines for a shell: base URL and credentials", "status`tShow whether a local server runs; exits with 1 when none does", "stop`tStop the local server; it finishes what is in flight", "logs`tShow the requests of the local server, or the log of its last detached run", "keys`tKeys of the encrypted transport", "openapi`tPrint the OpenAPI 3.1 document of what the server answers", "migrate`tBring the schema of a PostgreSQL database up to date", "export`tWrite all that a store holds into one file, as a backup or to move it", "import`tFill an empty store with what ``server export`` has written")
        'servers' = @("start`tStart the reference server", "list`tList the local servers that run, of any data folder and in memory", "env`tPrint export lines for a shell: base URL and credentials", "status`tShow whether a local server runs; exits with 1 when none does", "stop`tStop the local server; it finishes what is in flight", "logs`tShow the requests of the local server, or the log of its last detached run", "keys`tKeys of the encrypted transport", "openapi`tPrint the OpenAPI 3.1 document of what the server answers", "migrate`tBring the schema of a PostgreSQL database up to date", "export`tWrite all that a store holds into one file, as a backup or to move it", "import`tFill an empty store with what ``server export`` has written")
        'server keys' = @("list`tList the keys of the encrypted transport", "rotate`tReplace the current key of the encrypted transport with the next one")
        'server key' = @("list`tList the keys of the encrypted transport", "rotate`tReplace the current key of the encrypted transport with the next one")
        'servers keys' = @("list`tList the keys of the encrypted transport", "rotate`tReplace the current key of the encrypted transport with the next one")
        'servers key' = @("list`tList the keys of the encrypted transport", "rotate`tReplace the current key of the encrypted transport with the next one")
        'platform' = @("reviews`tList templates and bots that wait for review", "templates`tList templates with their quota, and decide on them", "bots`tDecide on bots, disable them, make updates for them", "apps`tList applications, suspend them and set their features", "users`tAct as a user: start a chat, send a message, block the bot", "chats`tChats, and what was said in them", "vouchers`tVouchers of every application, and their history", "deliveries`tWebhook deliveries of every bot, their signatures, and replays", "totals`tCount issued and redeemed vouchers over time", "clock`tThe test clock of a server started with --test-clock", "faults`tFailures on purpose, to test what your application does", "activity`tShow the requests and deliveries of the server as they happen", "snapshots`tSave the state of a local server, and return to it", "reset`tReturn the server to the state of its start")
        'platform templates' = @("list`tList the templates of all applications, with issued vouchers and quota", "approve`tApprove a template under review", "reject`tReject a template under review")
        'platform template' = @("list`tList the templates of all applications, with issued vouchers and quota", "approve`tApprove a template under review", "reject`tReject a template under review")
        'platform bots' = @("approve`tApprove a bot: it becomes active", "reject`tReject a bot; its owner may apply again", "disable`tDisable an approved bot", "enable`tEnable a disabled bot", "add-update`tCreate a friend_request, inline_query or ping update for a bot")
        'platform bot' = @("approve`tApprove a bot: it becomes active", "reject`tReject a bot; its owner may apply again", "disable`tDisable an approved bot", "enable`tEnable a disabled bot", "add-update`tCreate a friend_request, inline_query or ping update for a bot")
        'platform apps' = @("list`tList the applications of all accounts", "suspend`tSuspend an application", "reinstate`tEnd the suspension of an application", "features`tSet the features of an application")
        'platform app' = @("list`tList the applications of all accounts", "suspend`tSuspend an application", "reinstate`tEnd the suspension of an application", "features`tSet the features of an application")
        'platform users' = @("start`tStart a chat with a bot as a user, or return the existing one", "send`tSend a message to the bot as the user of a chat", "block`tBlock the bot as the user of a chat", "unblock`tLift the block as the user of a chat")
        'platform user' = @("start`tStart a chat with a bot as a user, or return the existing one", "send`tSend a message to the bot as the user of a chat", "block`tBlock the bot as the user of a chat", "unblock`tLift the block as the user of a chat")
        'platform chats' = @("list`tList chats", "messages`tRead a chat as its user, oldest message first")
        'platform chat' = @("list`tList chats", "messages`tRead a chat as its user, oldest message first")
        'platform vouchers' = @("list`tList the vouchers of all applications", "show`tShow a voucher with its history")
        'platform voucher' = @("list`tList the vouchers of all applications", "show`tShow a voucher with its history")
        'platform deliveries' = @("list`tList the deliveries of all bots", "show`tShow a delivery with its signature, schedule and responses", "replay`tSend a delivery once more without changing its state")
        'platform delivery' = @("list`tList the deliveries of all bots", "show`tShow a delivery with its signature, schedule and responses", "replay`tSend a delivery once more without changing its state")
        'platform clock' = @("show`tRead the test clock", "set`tSet the test clock; it only moves forward", "advance`tAdvance the test clock", "forecast`tCount what happens if the test clock is advanced")
        'platform faults' = @("list`tList faults, oldest first", "add`tInject a fault into the next calls of an endpoint, or into a share of them", "remove`tRemove a fault", "clear`tRemove all faults")
        'platform fault' = @("list`tList faults, oldest first", "add`tInject a fault into the next calls of an endpoint, or into a share of them", "remove`tRemove a fault", "clear`tRemove all faults")
        'platform snapshots' = @("list`tList snapshots, oldest first", "save`tSave the state of the server; replaces a snapshot of the same name", "restore`tReturn the server to a snapshot", "remove`tRemove a snapshot")
        'platform snapshot' = @("list`tList snapshots, oldest first", "save`tSave the state of the server; replaces a snapshot of the same name", "restore`tReturn the server to a snapshot", "remove`tRemove a snapshot")
        'completion' = @("bash`tPrint the script for bash", "zsh`tPrint the script for zsh", "fish`tPrint the script for fish", "powershell`tPrint the script for PowerShell", "install`tPut the completion where the shell finds it", "uninstall`tRemove what install has put there")
    }

    $current = ''
    $before = @()
    foreach ($element in ($commandAst.CommandElements | Select-Object -Skip 1)) {
        if ($element.Extent.StartOffset -ge $cursorPosition) { break }
        $text = $element.Extent.Text
        if ($element -is [System.Management.Automation.Language.StringConstantExpressionAst]) { $text = $element.Value }
        if ($element.Extent.EndOffset -ge $cursorPosition) { $current = $text } else { $before += $text }
    }

    $kind = 'words'
    $lines = @($commands[($before -join ' ')] | Where-Object { $_ -and $_.StartsWith($current) })
    if ($lines.Count -eq 0) {
        $saved = $env:VOUCHERCTL_COMPLETE_WORDS
        try {
            $env:VOUCHERCTL_COMPLETE_WORDS = (@($before) + $current) -join "`n"
            $answer = @(& voucherctl __complete powershell 2>$null)
        } catch {
            return
        } finally {
            $env:VOUCHERCTL_COMPLETE_WORDS = $saved
        }
        $kind = $answer | Select-Object -First 1
        $lines = @($answer | Select-Object -Skip 1)
    }
    # Nothing leaves file names to PowerShell itself.
    if ($kind -ne 'words') { return }
    foreach ($line in $lines) {
        $text, $summary = $line -split "`t", 2
        if (-not $summary) { $summary = $text }
        [System.Management.Automation.CompletionResult]::new($text, $text, 'ParameterValue', $summary)
    }
}
