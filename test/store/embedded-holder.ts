import { silentLog } from '../../src/observe/log.ts'
import { startEmbedded } from '../../src/store/redis/embedded.ts'

const [, , dir = '', fail] = process.argv
const embedded = await startEmbedded(dir, silentLog)
process.once('SIGTERM', () => void embedded.stop().then(() => process.exit(0)))
console.log(embedded.url)
if (fail) throw new Error('as asked')
setInterval(() => {}, 60_000)
