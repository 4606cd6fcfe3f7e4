import { silentLog } from '../../src/observe/log.ts'
import { startEmbedded, useEmbedded } from '../../src/store/redis/embedded.ts'

const [, , dir = '', how] = process.argv
if (how === '--command') await useEmbedded(dir).then(({ url }) => console.log(url))
else {
  const embedded = await startEmbedded(dir, silentLog)
  process.once('SIGTERM', () => void embedded.stop().then(() => process.exit(0)))
  console.log(embedded.url)
}
if (how === '--throw') throw new Error('as asked')
setInterval(() => {}, 60_000)
