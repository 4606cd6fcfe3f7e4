// Delivers four messages to the file that the first argument names, as the user with the id of the third, and prints the outcomes.
import file from '../../sinks/file/index.ts'
import { sampleMessages, testContext } from '../../src/sink/testkit/index.ts'

const [path = '', fsync, user] = process.argv.slice(2)
if (user !== undefined) process.setuid?.(Number(user))
const options = { path, maxSize: 100e6, maxFiles: 10, interval: undefined, compress: false }
const sink = await file.open({ ...options, fsync: fsync === 'true' }, testContext())
const outcomes = await sink.deliver(sampleMessages(4), new AbortController().signal)
process.stdout.write(JSON.stringify(outcomes))
await sink.close()
