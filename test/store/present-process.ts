/** A process that shows its presence under the id that it is given, until it is killed. */
import { openPresence } from '../../src/queue/process-presence.ts'

const presence = await openPresence(process.argv[2] as string)
process.send?.(presence.where)
setInterval(() => {}, 60_000)
