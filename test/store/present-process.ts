import { openPresence } from '../../src/store/lanes/live-processes.ts'

const presence = await openPresence(process.argv[2] as string)
process.send?.(presence.where)
setInterval(() => {}, 60_000)
