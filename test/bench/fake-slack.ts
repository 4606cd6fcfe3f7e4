import { startSlack } from '../servers/slack.ts'

// A Slack that is never too slow and keeps nothing, in a process of its own. Prints its port.
const slack = await startSlack({ perSecond: 1e6, burst: 1e6, updatesPerMinute: 1e6 })
slack.channel('events')
setInterval(() => {
  slack.messages.splice(0)
  slack.calls.splice(0)
}, 100)
console.log(new URL(slack.apiUrl).port)
process.on('disconnect', () => process.exit(0))
